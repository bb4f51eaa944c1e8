// A dense switch with libgcc in flash: Thumb-1 has helpers whose table is behind the call.
// flash: libgcc
// truth: by running
#include "case.h"

volatile int port;
ROOT root(int x)
{
    switch (x) {
    case 0: port = 5; break;
    case 1: port = 7; port = 2; break;
    case 2: port = 99; break;
    case 3: port = x; CLOBBER(); port *= 3; break;
    case 4: port = -port; break;
    case 5: port = port << 3 | 1; break;
    case 6: port &= 0x7777; break;
    }
    return port;
}
INPUTS(0, 1, 2, 3, 4, 5, 6, 7)
