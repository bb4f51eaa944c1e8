// A switch on a byte that covers all its values: no default.
#include "case.h"

volatile int port;
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    switch ((byte)x & 7u) {
    case 0: port = 5; break;
    case 1: port = 7; port = 2; break;
    case 2: port = 99; break;
    case 3: port = x; CLOBBER(); port *= 3; break;
    case 4: port = -port; break;
    case 5: port = port << 3 | 1; break;
    case 6: port = helper(port); break;
    case 7: port = port + 8; break;
    }
    return port;
}
INPUTS(0, 1, 2, 3, 4, 5, 7, 14)
