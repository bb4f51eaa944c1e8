// The address of a function in flash that is compared and never called.
// variants: free
#include "case.h"

FLASH int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x; }
volatile word last;
ROOT root(int x)
{
    if (last == (word)helper)
        return 1;
    return other(x);
}
INPUTS(0, 2)
