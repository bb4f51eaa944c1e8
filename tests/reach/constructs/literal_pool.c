// Large constants and addresses of data in RAM: literal pools in text.
// variants: free
// flash: rodata
// truth: by running
#include "case.h"

volatile unsigned first, second[100];
ROOT root(int x)
{
    first = 0xDEADBEEFu ^ (unsigned)x;
    second[7] = first + 0x12345678u;
    second[x & 63] = first * 0x9E3779B1u;
    return (int)(first + second[3]);
}
INPUTS(0, 1, 77)
