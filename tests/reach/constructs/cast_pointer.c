// A function whose address goes through an integer and is changed back.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    word address = OPAQUE((word)helper) ^ 0x1234u;
    void *data = (void *)OPAQUE(address);
    return ((int (*)(int))((word)data ^ 0x1234u))(x) + 1;
}
INPUTS(0, 1)
