// A guard of the stack that may be in flash.
// flags: -fstack-protector-all
// truth: by running
#include "case.h"

EITHER_CONST KEEP const word __stack_chk_guard = 0x1234567;
RAM KEEP void __stack_chk_fail(void) { for (;;) CLOBBER(); }
ROOT root(int x)
{
    volatile byte data[64];
    data[x & 63] = 3;
    return data[(x + 1) & 63];
}
INPUTS(0, 5)
