// A computed jump by a table of labels in RAM; one of the labels calls a function.
// truth: by running
#include "case.h"

volatile int port;
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    static const void *const labels[] = {&&zero, &&one, &&two};
    int steps = x;
    goto *labels[x % 3];
zero:
    port = 1;
    return port;
one:
    port = 7;
    steps += 2;
    if (steps > 10)
        return helper(steps);
    goto *labels[(steps + 1) % 3];
two:
    port = 9;
    steps += 4;
    goto *labels[(steps + port) % 3];
}
INPUTS(0, 1, 2, 3, 4, 13, 16)
