// A loop in which compilers see a copy or a fill.
// flash: memory
// truth: by running
#include "case.h"

byte from[512], to[512];
ROOT root(int x)
{
    for (int at = 0; at < x; at++)
        to[at] = from[at];
    for (int at = x; at < 512; at++)
        from[at] = 7;
    CLOBBER();
    return to[x & 31];
}
INPUTS(0, 15, 500)
