// A division of 64-bit numbers.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x)
{
    unsigned long long value = OPAQUE(0x123456789ABCull);
    long long negative = OPAQUE(-0x123456789ABll);
    return (int)(value / ((unsigned)x + 3u) + value % 1000u) + (int)(negative / x);
}
INPUTS(1, 7, -3)
