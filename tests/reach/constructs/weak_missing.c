// A weak function that nobody defines: its address is 0, and it is not called.
// variants: free
// truth: by running
#include "case.h"

int missing(int x) __attribute__((weak));
ROOT root(int x)
{
    if (missing)
        return missing(x);
    return x + 1;
}
INPUTS(0, 1)
