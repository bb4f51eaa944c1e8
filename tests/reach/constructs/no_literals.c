// Code without literal pools.
// flags: -mpure-code
// targets: thumb2
// compilers: gcc
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
volatile unsigned port;
ROOT root(int x)
{
    port = 0xDEADBEEFu;
    return OPAQUE(helper)(x) + 1;
}
INPUTS(0, 5)
