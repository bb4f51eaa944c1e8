// An address that is reached from that of another object by their distance.
#include "case.h"

EITHER_CONST const volatile int table[4] = {1, 2, 3, 4};
static volatile int anchor[4];
ROOT root(int x)
{
    word distance = OPAQUE((word)table - (word)anchor);
    const volatile int *there = (const volatile int *)((word)OPAQUE(&anchor[0]) + distance);
    return there[x & 3];
}
INPUTS(0, 3)
