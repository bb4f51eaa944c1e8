// A local array that is cleared: memset.
// flash: memory
// truth: by running
#include "case.h"

RAM int sum(volatile byte *data, int x) { CLOBBER(); return data[x & 255] + data[3]; }
ROOT root(int x)
{
    byte data[300] = {0};
    CLOBBER();
    return sum(data, x);
}
INPUTS(0, 15)
