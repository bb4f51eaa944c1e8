// Calls through registers, as compilers make them for far targets.
// flags: -mlong-calls
// targets: thumb1 thumb2 arm
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x) { return helper(x) + 1; }
INPUTS(0, 5)
