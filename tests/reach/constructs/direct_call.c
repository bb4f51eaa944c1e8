// A call of a function.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x) { return helper(x) + 1; }
INPUTS(0, 1, 2)
