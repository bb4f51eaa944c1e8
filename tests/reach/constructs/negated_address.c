// An address that is negated, rotated and multiplied on its way.
#include "case.h"

EITHER_CONST const volatile int table[4] = {1, 2, 3, 4};
ROOT root(int x)
{
    word address = -OPAQUE((word)table);
    address = OPAQUE(address >> 4 | address << (8 * sizeof address - 4));
    address = OPAQUE(address << 4 | address >> (8 * sizeof address - 4));
    address = OPAQUE(address * 5u) * (sizeof address == 8 ? (word)0xCCCCCCCCCCCCCCCDull : 0xCCCCCCCDu);
    return ((const volatile int *)-address)[x & 3];
}
INPUTS(0, 3)
