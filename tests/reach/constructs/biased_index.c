// A table whose index begins at 1000: its base is an address before the table.
#include "case.h"

EITHER_CONST const short table[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16};
ROOT root(int x)
{
    if (x < 1000 || x > 1015)
        return -1;
    return table[x - 1000];
}
INPUTS(0, 1000, 1015, 1016)
