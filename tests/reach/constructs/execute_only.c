// Code without literal pools, by clang.
// flags: -mexecute-only
// targets: thumb2
// compilers: clang
#include "case.h"

EITHER_CONST const int table[4] = {1, 2, 3, 4};
volatile unsigned port;
ROOT root(int x)
{
    port = 0xDEADBEEFu;
    return table[x & 3] + 1;
}
INPUTS(0, 5)
