// A function that returns the address of one of two tables.
#include "case.h"

EITHER_CONST const volatile int far_table[4] = {1, 2, 3, 4};
volatile int near_table[4] = {5, 6, 7, 8};
RAM const volatile int *pick(int x)
{
    CLOBBER();
    return x > 2 ? far_table : near_table;
}
ROOT root(int x) { return pick(x)[x & 3]; }
INPUTS(0, 3)
