// A call from the body of a loop that the first inputs do not enter.
#include "case.h"

EITHER int step(int x) { CLOBBER(); return x ^ 0x55; }
ROOT root(int x)
{
    int sum = 0;
    for (int at = 0; at < x; at++)
        sum += step(at);
    return sum;
}
INPUTS(0, 3)
