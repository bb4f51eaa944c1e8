// A variable in RAM that holds the address of a constant.
// pointers: given
#include "case.h"

EITHER_CONST const int table[4] = {1, 2, 3, 4};
const int *volatile cursor = table;
ROOT root(int x) { return cursor[x & 3]; }
INPUTS(0, 3)
