// Calls that bits of an input choose, all in one loop.
#include "case.h"

EITHER int third(int x) { CLOBBER(); return x * 3; }
RAM int second(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    int sum = 0;
    for (int at = 0; x >> at; at++)
        if (x >> at & 1)
            sum += at == 0 ? first(x) : at == 1 ? second(x) : at == 5 ? third(x) : 1;
    return sum;
}
INPUTS(0, 3, 32)
