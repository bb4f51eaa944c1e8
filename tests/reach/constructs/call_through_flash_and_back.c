// A function in RAM that is called through a trampoline, which may be in flash.
#include "case.h"

RAM int target(int x) { CLOBBER(); return x + 4; }
EITHER int trampoline(int x) { return target(x); }
ROOT root(int x) { return trampoline(x) + 1; }
INPUTS(0, 1)
