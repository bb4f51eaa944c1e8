// A call at the end of the root, a jump from -O1 on.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x) { return helper(x ^ 5); }
INPUTS(0, 1, 2)
