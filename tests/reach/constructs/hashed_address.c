// The address of a constant in flash that is used as a number.
// variants: free
#include "case.h"

FLASH_CONST const int constant = 5;
ROOT root(int x) { return (int)(OPAQUE((word)&constant) >> 3) * 31 + x; }
INPUTS(0, 2)
