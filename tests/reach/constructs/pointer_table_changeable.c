// A table of functions that could be changed and never is.
#include "case.h"

EITHER int second(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
RAM int zeroth(int x) { CLOBBER(); return 0 * x; }
int (*table[3])(int) = {zeroth, first, second};
ROOT root(int x)
{
    if (x < 0 || x > 2)
        return -1;
    return table[x](x) + 1;
}
INPUTS(0, 1, 2, 3)
