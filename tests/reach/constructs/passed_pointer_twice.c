// A function passed through two others; one of two callers passes one that may be in flash.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x - 1; }
RAM int inner(int x, int (*call)(int)) { CLOBBER(); return call(x) + 1; }
RAM int outer(int (*call)(int), int x) { CLOBBER(); return inner(x + 1, call) + 1; }
ROOT root(int x) { return outer(other, x) + (x == 3 ? outer(helper, x) : 0); }
INPUTS(0, 3)
