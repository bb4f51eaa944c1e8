// A word in flash that has the same distance from a table there as a given one has in RAM.
#include "case.h"

EITHER_CONST const volatile int table[4] = {1, 2, 3, 4};
static int shadow[4];
RAM int *place(int x) { return shadow + OPAQUE(x); }
ROOT root(int x)
{
    word offset = (word)place(x) - (word)shadow;
    return *(const volatile int *)((word)table + offset);
}
INPUTS(0, 3)
