// Shifts and products of 64-bit numbers.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x)
{
    unsigned long long value = OPAQUE(0x123456789ABCull);
    value = value << (x & 63) ^ value >> (x & 31);
    value *= OPAQUE(0x1000000012345ull);
    return (int)(value >> 32) ^ (int)((long long)value >> (x & 15));
}
INPUTS(1, 7, 40)
