// Counts of bits: libgcc's functions are in RAM, their tables may be in flash.
// flash: libgccdata
// truth: by running
#include "case.h"

ROOT root(int x)
{
    unsigned value = OPAQUE((unsigned)x);
    return __builtin_popcount(value) + __builtin_clz(value | 1u) + __builtin_ctz(value | 0x1000u);
}
INPUTS(0, 1, 0x7070)
