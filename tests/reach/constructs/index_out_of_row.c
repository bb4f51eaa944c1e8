// A table of rows in RAM whose pointers lead to rows that may be in flash.
#include "case.h"

EITHER_CONST const volatile int far_row[4] = {1, 2, 3, 4};
RAM_CONST const volatile int near_row[4] = {1, 2, 3, 4};
static const volatile int *const rows[2] = {near_row, far_row};
ROOT root(int x) { return rows[x & 1][x & 3]; }
INPUTS(0, 2, 3)
