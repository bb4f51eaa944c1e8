// A division of 32-bit numbers.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x) { return OPAQUE(1000000) / x + (int)(OPAQUE(1000000u) % (unsigned)x); }
INPUTS(1, 7, -3)
