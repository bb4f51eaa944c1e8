// Counts of bits with libgcc in flash.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x)
{
    unsigned value = OPAQUE((unsigned)x);
    return __builtin_popcount(value) + __builtin_parity(value) + (int)__builtin_bswap32(value);
}
INPUTS(0, 1, 0x7070)
