// A function is called through a pointer of another type: a search of callees by type would miss it.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM long other(long x, long y) { CLOBBER(); return x - y; }
ROOT root(int x)
{
    long (*call)(long, long) = x == 2 ? (long (*)(long, long))OPAQUE(helper) : OPAQUE(other);
    return (int)call(x, 1);
}
INPUTS(0, 2)
