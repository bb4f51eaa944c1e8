// A static function pointer that is never changed.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
static int (*volatile handler)(int) = helper;
ROOT root(int x) { return handler(x) + 1; }
INPUTS(0, 3)
