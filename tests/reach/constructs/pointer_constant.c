// A call through a register that holds the address of a function.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    int (*call)(int) = OPAQUE(helper);
    return call(x) + 1;
}
INPUTS(0, 1, 2)
