// A stack frame of several kilobytes.
#include "case.h"

EITHER int helper(volatile byte *data) { CLOBBER(); return data[5]; }
ROOT root(int x)
{
    volatile byte data[6000];
    data[5] = (byte)x;
    data[5999] = (byte)x;
    return helper(data) + data[5999];
}
INPUTS(0, 5)
