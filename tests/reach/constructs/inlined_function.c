// A function of flash that is inlined: nothing in flash is executed.
// variants: free
#include "case.h"

static inline __attribute__((always_inline, section(".flash.text"))) int helper(int x) { return x * 3 + 1; }
ROOT root(int x) { return helper(x) + 1; }
INPUTS(0, 2)
