// One of two functions, by a condition.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    int (*call)(int) = x == 5 ? helper : other;
    return OPAQUE(call)(x) + 1;
}
INPUTS(0, 5)
