// A function that is passed as the sixth argument: 32-bit ARM passes it on the stack.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int apply(int a, int b, int c, int d, int e, int (*call)(int)) { CLOBBER(); return call(a + b * c - d * e); }
ROOT root(int x) { return apply(x, 1, 2, x + 3, 4, helper) * 2; }
INPUTS(0, 1)
