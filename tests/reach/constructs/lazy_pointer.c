// A pointer in RAM that the root itself fills at its first call.
#include "case.h"

EITHER_CONST const int table[4] = {1, 2, 3, 4};
static const int *volatile kept;
ROOT root(int x)
{
    if (!kept)
        kept = table;
    return x == 7 ? kept[3] : 0;
}
INPUTS(0, 7)
