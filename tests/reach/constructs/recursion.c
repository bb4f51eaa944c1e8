// A function that calls itself and, at the bottom, another one.
#include "case.h"

EITHER int bottom(int x) { CLOBBER(); return x + 1; }
RAM int descend(int x)
{
    CLOBBER();
    return x <= 0 ? bottom(x) : descend(x - 1) * 3 + descend(x - 2);
}
ROOT root(int x) { return descend(x); }
INPUTS(0, 4)
