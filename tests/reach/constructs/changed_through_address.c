// A function pointer on the stack that a callee replaces.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x - 1; }
RAM void replace(int (**call)(int), int x)
{
    CLOBBER();
    if (x == 2)
        *call = helper;
}
ROOT root(int x)
{
    int (*call)(int) = other;
    replace(&call, x);
    return call(x) * 2;
}
INPUTS(0, 2)
