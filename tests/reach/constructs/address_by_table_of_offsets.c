// A function at a distance from another one, kept in a table that is filled first.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int base(int x) { CLOBBER(); return x; }
static word offsets[2];
ROOT root(int x)
{
    word start = (word)OPAQUE(base);
    ((volatile word *)offsets)[1] = (word)OPAQUE(helper) - start;
    return ((int (*)(int))(start + ((volatile word *)offsets)[x & 1]))(x);
}
INPUTS(0, 1)
