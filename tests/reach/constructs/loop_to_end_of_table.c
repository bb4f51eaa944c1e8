// A loop over a constant table backwards, from the address behind it.
#include "case.h"

EITHER_CONST const int samples[8] = {3, 1, 4, 1, 5, 9, 2, 6};
volatile int port;
ROOT root(int x)
{
    const int *sample = OPAQUE(samples + 8);
    while (x-- > 0)
        port = *--sample;
    return port;
}
INPUTS(0, 8)
