// A recursive function that passes a function on, and swaps it at the bottom.
#include "case.h"

EITHER int last(int x) { CLOBBER(); return x + 1; }
RAM int first(int x) { CLOBBER(); return x + 2; }
RAM int descend(int x, int (*now)(int), int (*then)(int))
{
    CLOBBER();
    if (x == 0)
        return now(x);
    return descend(x - 1, then, now) + now(x);
}
ROOT root(int x) { return descend(x, first, x > 2 ? last : first); }
INPUTS(0, 2, 3)
