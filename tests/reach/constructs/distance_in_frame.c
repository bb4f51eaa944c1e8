// A table is read at the distance of a pointer from the end of an array on the stack.
#include "case.h"

EITHER_CONST const volatile byte table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
RAM byte *place(byte *buffer, int x) { return buffer + OPAQUE(x); }
ROOT root(int x)
{
    byte buffer[8];
    byte *end = OPAQUE((byte *)buffer) + 7;
    return table[end - place(buffer, x)];
}
INPUTS(0, 7)
