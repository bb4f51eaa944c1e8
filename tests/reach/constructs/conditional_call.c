// A call that is made for one of three inputs.
#include "case.h"

EITHER int rare(int x) { CLOBBER(); return x + 100; }
ROOT root(int x)
{
    if (x > 5)
        return rare(x);
    return x;
}
INPUTS(1, 5, 6)
