// A table of differences between labels.
// truth: by running
// compilers: gcc
#include "case.h"

volatile int port;
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    static const int offsets[] = {&&zero - &&zero, &&one - &&zero, &&two - &&zero};
    goto *(&&zero + offsets[x]);
zero:
    port = 1;
    return port;
one:
    port = 7;
    return port + helper(x);
two:
    port = 9;
    return port ^ 3;
}
INPUTS(0, 2, 1)
