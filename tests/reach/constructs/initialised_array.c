// A local array with initial values, which are kept beside the constants.
// flash: rodata
// truth: by running
#include "case.h"

ROOT root(int x)
{
    volatile int weights[16] = {31, 41, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64, 33, 83, 27, 95};
    return weights[x & 15];
}
INPUTS(0, 15)
