// A function that is called by its other name.
#include "case.h"

EITHER int original(int x) { CLOBBER(); return x * 5; }
int other_name(int x) __attribute__((alias("original")));
ROOT root(int x) { return other_name(x) + 1; }
INPUTS(0, 1)
