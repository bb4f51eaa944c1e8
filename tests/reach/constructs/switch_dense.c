// A switch of many cases; compilers put its table into text or beside the constants.
// flash: rodata
// truth: by running
#include "case.h"

extern int state;
int state = 3;
ROOT root(int x)
{
    switch (x) {
    case 0: state += 5; break;
    case 1: state *= 7; break;
    case 2: state ^= 99; break;
    case 3: state -= x; CLOBBER(); state *= 3; break;
    case 4: state = -state; break;
    case 5: state = state << 3 | 1; break;
    case 6: state &= 0x7777; break;
    case 7: state |= 0x1010; break;
    case 8: state = state * state; break;
    default: state = 0; break;
    }
    return state;
}
INPUTS(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1000)
