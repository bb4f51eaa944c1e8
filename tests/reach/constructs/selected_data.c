// One of two numbers, by a condition.
#include "case.h"

EITHER_CONST const volatile int one = 5;
static volatile int two = 6;
ROOT root(int x)
{
    const volatile int *chosen = x == 5 ? &one : &two;
    return *OPAQUE(chosen) + 1;
}
INPUTS(0, 5)
