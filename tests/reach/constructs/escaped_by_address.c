// A function pointer in a global that is changed through its address.
#include "case.h"

EITHER int late(int x) { CLOBBER(); return x * 3 + 1; }
RAM int early(int x) { CLOBBER(); return x; }
static int (*handler)(int) = early;
RAM void *place_of_handler(void) { CLOBBER(); return &handler; }
ROOT root(int x) { return handler(x) + 1; }
RAM void run(int x)
{
    if (x == 2)
        *(int (**)(int))place_of_handler() = late;
    case_result = root(x);
}
INPUTS_OF_RUN(0, 1, 2)
