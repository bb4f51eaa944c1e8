// An array in RAM, read at small indices: they are addresses if flash lies at 0.
// variants: free
#include "case.h"

volatile int data[64];
ROOT root(int x)
{
    int sum = 0;
    for (int at = 0; at < 64; at += 4)
        sum += data[at] * 16;
    return sum + data[x & 31];
}
INPUTS(0, 1, 77)
