// A table of functions in RAM, changed between two calls.
#include "case.h"

EITHER int late(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
RAM int zeroth(int x) { CLOBBER(); return 0 * x; }
int (*table[2])(int) = {zeroth, first};
ROOT root(int x) { return table[x & 1](x) + 1; }
RAM void run(int x)
{
    if (x == 5)
        table[1] = late;
    case_result = root(x);
}
INPUTS_OF_RUN(0, 1, 5)
