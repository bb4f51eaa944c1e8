// More values are alive than there are registers: some are spilled, a function pointer among them.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    int (*call)(int) = OPAQUE(helper);
    int a = OPAQUE(x + 1), b = OPAQUE(x + 2), c = OPAQUE(x + 3), d = OPAQUE(x + 4), e = OPAQUE(x + 5);
    int f = OPAQUE(x + 6), g = OPAQUE(x + 7), h = OPAQUE(x + 8), i = OPAQUE(x + 9), j = OPAQUE(x + 10);
    int k = other(a) + other(b), l = other(c) + other(d), m = other(e) + other(f), n = other(g) + other(h);
    return call(a * b + c * d + e * f + g * h + i * j + k * l + m * n);
}
INPUTS(0, 5)
