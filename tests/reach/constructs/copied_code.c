// A function that is copied to the stack of RAM and read, not called.
#include "case.h"

RAM int other(int x) { CLOBBER(); return x; }
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
byte copy[16];
ROOT root(int x)
{
    const volatile byte *code = (const volatile byte *)((word)(x == 3 ? OPAQUE(helper) : OPAQUE(other)) & ~(word)1);
    for (int at = 0; at < 4; at++)
        ((volatile byte *)copy)[at] = code[at];
    return copy[1];
}
INPUTS(0, 3)
