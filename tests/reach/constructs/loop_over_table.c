// A loop over a constant table by a moving pointer.
#include "case.h"

EITHER_CONST const short samples[20] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
volatile short port;
ROOT root(int x)
{
    int count = x;
    for (const short *sample = samples; count > 0; sample++, count--)
        port = *sample;
    return port;
}
INPUTS(0, 20)
