// A copy that the source asks for.
// flash: memory
#include "case.h"

byte from[512], to[512];
ROOT root(int x)
{
    memcpy(to, from, (unsigned)OPAQUE(x));
    return to[x & 31];
}
INPUTS(1, 15, 500)
