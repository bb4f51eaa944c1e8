// A function pointer that is kept in a register which callees save.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x - 1; }
ROOT root(int x)
{
    int (*call)(int) = OPAQUE(helper);
    for (int at = 0; at < 3; at++)
        x = other(x);
    return x > 0 ? call(x) : other(x);
}
INPUTS(0, 9)
