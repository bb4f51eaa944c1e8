// A static variable in RAM that holds the address of a constant and moves on.
// pointers: given
#include "case.h"

EITHER_CONST const int table[4] = {1, 2, 3, 4};
static const int *cursor = table;
ROOT root(int x)
{
    int value = *cursor;
    cursor = x == 1 ? table : cursor + 1;
    return value;
}
INPUTS(0, 1)
