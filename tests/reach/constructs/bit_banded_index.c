// A table index that is masked, scaled and moved to a row.
#include "case.h"

EITHER_CONST const byte font[96][5] = {{1, 2, 3}, {4, 5, 6}};
volatile byte port;
ROOT root(int x)
{
    for (int column = 0; column < 5; column++)
        port = font[(x - 32) & 63][column];
    return port;
}
INPUTS(32, 95)
