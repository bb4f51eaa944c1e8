// A table is read at an index that is the complement of a pointer plus an address.
#include "case.h"

EITHER_CONST const volatile byte table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static byte buffer[8];
RAM byte *place(int x) { return buffer + OPAQUE(x); }
ROOT root(int x)
{
    word complement = OPAQUE(~(word)place(x));
    word index = OPAQUE((word)buffer + 8) + complement;
    return table[index];
}
INPUTS(0, 7)
