// An array in RAM is read at small indices. With flash at 0 they could be taken for addresses in flash.
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
