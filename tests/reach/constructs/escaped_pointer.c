// A function pointer in a global that its driver changes later.
#include "case.h"

EITHER int late(int x) { CLOBBER(); return x * 3 + 1; }
RAM int early(int x) { CLOBBER(); return x; }
int (*handler)(int) = early;
RAM void set_handler(int (*call)(int)) { handler = call; }
ROOT root(int x) { return handler(x) + 1; }
RAM void run(int x)
{
    if (x == 2)
        set_handler(late);
    case_result = root(x);
}
INPUTS_OF_RUN(0, 1, 2)
