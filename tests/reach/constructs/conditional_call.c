// A call that one input of three makes.
#include "case.h"

EITHER int rare(int x) { CLOBBER(); return x + 100; }
ROOT root(int x)
{
    if (x > 5)
        return rare(x);
    return x;
}
INPUTS(1, 5, 6)
