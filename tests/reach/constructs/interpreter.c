// An interpreter of byte codes with a switch; its program may be in flash.
#include "case.h"

EITHER_CONST const byte program[] = {1, 2, 0, 3, 1, 4, 2, 5, 6};
RAM int interpret(const byte *code, int x)
{
    for (;;)
        switch (*code++) {
        case 0: x += 3; break;
        case 1: x ^= 9; break;
        case 2: x *= 5; break;
        case 3: x -= 1; break;
        case 4: x = -x; break;
        case 5: x >>= 1; break;
        default: return x;
        }
}
ROOT root(int x) { return interpret(program, x); }
INPUTS(0, 2)
