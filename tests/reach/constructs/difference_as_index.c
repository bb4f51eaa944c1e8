// A table is read at the distance of a pointer from the end of an array.
#include "case.h"

EITHER_CONST const volatile byte table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static byte buffer[8];
RAM byte *place(int x) { return buffer + OPAQUE(x); }
ROOT root(int x)
{
    byte *end = buffer + 7;
    return table[end - place(x)];
}
INPUTS(0, 7)
