// A switch of many cases, of which one calls a function.
#include "case.h"

int state = 3;
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    switch (x) {
    case 10: state += 5; break;
    case 11: state *= 7; break;
    case 12: state ^= 99; break;
    case 13: state -= x; CLOBBER(); state *= 3; break;
    case 14: state = -state; break;
    case 15: state = state << 3 | 1; break;
    case 16: state &= 0x7777; break;
    case 17: state = helper(state); break;
    case 18: state = state * state; break;
    default: state = 0; break;
    }
    return state;
}
INPUTS(9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
