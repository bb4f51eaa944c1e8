// A table of functions in RAM; the last one may be in flash.
#include "case.h"

EITHER int third(int x) { CLOBBER(); return x * 3; }
RAM int second(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
RAM int zeroth(int x) { CLOBBER(); return 0 * x; }
static int (*const table[4])(int) = {zeroth, first, second, third};
ROOT root(int x) { return table[x & 3](x) + 1; }
INPUTS(0, 1, 2, 3)
