// The address of a constant in flash, passed to a function that does not read through it.
// variants: free
#include "case.h"

FLASH_CONST const int constant = 5;
RAM int same(const void *left, const void *right) { CLOBBER(); return left == right; }
ROOT root(int x) { return same(&constant, OPAQUE(&x)); }
INPUTS(0, 2)
