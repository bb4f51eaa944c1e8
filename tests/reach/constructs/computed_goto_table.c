// The table of labels may be beside the constants.
// flash: rodata
#include "case.h"

volatile int port;
ROOT root(int x)
{
    static const void *const labels[] = {&&zero, &&one, &&two};
    goto *labels[x];
zero:
    port = 1;
    return port;
one:
    port = 7;
    return port + x;
two:
    port = 9;
    return port ^ 3;
}
INPUTS(0, 1, 2)
