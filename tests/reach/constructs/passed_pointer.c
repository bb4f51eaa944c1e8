// A function that is passed to the one which calls it.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int apply(int (*call)(int), int x) { CLOBBER(); return call(x) + 1; }
ROOT root(int x) { return apply(helper, x) * 2; }
INPUTS(0, 1)
