// A pointer to a pointer to a constant.
// pointers: given
#include "case.h"

EITHER_CONST const volatile int constant = 9;
static const volatile int *volatile inner = &constant;
static const volatile int *volatile *volatile outer = &inner;
ROOT root(int x) { return **outer + x; }
INPUTS(0, 2)
