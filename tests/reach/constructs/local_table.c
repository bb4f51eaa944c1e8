// A table of functions that is filled on the stack.
#include "case.h"

EITHER int second(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
RAM int zeroth(int x) { CLOBBER(); return 0 * x; }
ROOT root(int x)
{
    int (*table[3])(int);
    table[0] = zeroth;
    table[1] = first;
    table[2] = second;
    CLOBBER();
    return table[OPAQUE(x)](x);
}
INPUTS(0, 1, 2)
