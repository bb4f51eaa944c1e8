// A loop in RAM that ends at the address behind an array.
// variants: free
#include "case.h"

static volatile int values[9];
ROOT root(int x)
{
    int sum = x;
    for (volatile int *value = values; value != values + 9; value++)
        sum += *value;
    return sum;
}
INPUTS(0, 2)
