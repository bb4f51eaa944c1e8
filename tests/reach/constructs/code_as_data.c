// The bytes of a function, read.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    const volatile byte *code = (const volatile byte *)((word)OPAQUE(helper) & ~(word)1);
    return code[0] + code[1] + x;
}
INPUTS(0, 1)
