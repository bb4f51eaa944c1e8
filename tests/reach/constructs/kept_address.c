// The address of a function in flash that is stored and never called.
// variants: free
#include "case.h"

FLASH int helper(int x) { CLOBBER(); return x * 3 + 1; }
void *volatile kept;
ROOT root(int x)
{
    kept = (void *)helper;
    return x + 1;
}
INPUTS(0, 2)
