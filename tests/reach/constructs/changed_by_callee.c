// A global function pointer that the root's callee changes.
#include "case.h"

EITHER int late(int x) { CLOBBER(); return x * 3 + 1; }
RAM int early(int x) { CLOBBER(); return x; }
static int (*handler)(int) = early;
RAM void advance(int x)
{
    if (x > 3)
        handler = late;
}
ROOT root(int x)
{
    advance(x);
    return handler(x) + 1;
}
INPUTS(0, 3, 4)
