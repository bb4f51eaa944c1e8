// A table of numbers that one input reads.
#include "case.h"

EITHER_CONST const int table[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16};
ROOT root(int x)
{
    if (x == 1234)
        return table[OPAQUE(x) & 15];
    return x;
}
INPUTS(0, 1, 1234)
