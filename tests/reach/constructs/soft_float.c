// Sums and products of floating-point numbers.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x)
{
    float value = OPAQUE(x) * 1.25f;
    value = value * value + 3.5f;
    return (int)(value / 0.3f) + (value > 10.0f);
}
INPUTS(0, 1, 7)
