// A table of numbers that is read at an index.
#include "case.h"

EITHER_CONST const int table[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16};
ROOT root(int x) { return table[x & 15] + x; }
INPUTS(0, 1, 15)
