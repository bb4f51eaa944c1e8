// Two functions that call each other; one of them may be in flash.
#include "case.h"

RAM int even(int x);
EITHER int odd(int x) { CLOBBER(); return x == 0 ? 0 : even(x - 1) + 1; }
RAM int even(int x) { CLOBBER(); return x == 0 ? 1 : odd(x - 1) + 1; }
ROOT root(int x) { return even(x); }
INPUTS(0, 5)
