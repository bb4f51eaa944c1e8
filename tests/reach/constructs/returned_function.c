// A function that returns a function.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
RAM int (*choose(int x))(int)
{
    CLOBBER();
    return x > 2 ? helper : other;
}
ROOT root(int x) { return choose(x)(x) + 1; }
INPUTS(0, 3)
