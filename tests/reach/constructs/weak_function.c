// A weak function; the definition that wins may be in flash.
#include "case.h"

__attribute__((weak)) EITHER int hook(int x) { CLOBBER(); return x * 5; }
ROOT root(int x) { return hook(x) + 1; }
INPUTS(0, 1)
