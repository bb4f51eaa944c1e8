// A stack frame whose size depends on the input, with a function pointer below it.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    int (*volatile call)(int) = x == 5 ? helper : other;
    volatile byte data[x + 8];
    data[x + 7] = 3;
    return call(data[x + 7]);
}
INPUTS(0, 5)
