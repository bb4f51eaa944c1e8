// Two function pointers that the root swaps.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
static int (*volatile pair[2])(int) = {other, helper};
ROOT root(int x)
{
    int (*kept)(int) = pair[0];
    if (x == 2) {
        pair[0] = pair[1];
        pair[1] = kept;
    }
    return pair[0](x);
}
INPUTS(0, 2)
