// A function's address that is passed on the stack, and that the callee lets another one change.
#include "case.h"

EITHER int other(int x) { CLOBBER(); return x * 3 + 1; }
RAM int usual(int x) { CLOBBER(); return x; }
RAM void change(int (**call)(int)) { CLOBBER(); *call = other; }
RAM int apply(int a, int b, int c, int d, int e, int f, int g, int h, int (*call)(int))
{
    change(&call);
    CLOBBER();
    return call(a + b + c + d + e + f + g + h);
}
ROOT root(int x) { return apply(x, 1, 2, 3, 4, 5, 6, 7, usual); }
INPUTS(0, 1)
