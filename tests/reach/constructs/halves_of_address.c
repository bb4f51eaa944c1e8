// An address that is put together from two halves.
#include "case.h"

EITHER_CONST const volatile int table[4] = {1, 2, 3, 4};
ROOT root(int x)
{
    word low = OPAQUE((word)table & 0xFFFFu);
    word high = OPAQUE((word)table >> 16);
    return ((const volatile int *)(high << 16 | low))[x & 3];
}
INPUTS(0, 3)
