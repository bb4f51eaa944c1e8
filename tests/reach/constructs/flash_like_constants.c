// Integers that look like addresses in flash and are none.
// variants: free
#include "case.h"

volatile unsigned first;
ROOT root(int x)
{
    first = 0x08000010u + (unsigned)x;
    first = 0x00000100u ^ first;
    first = first * 64u + 0x08000101u;
    return (int)first;
}
INPUTS(0, 1, 77)
