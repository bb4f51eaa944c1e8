// The same with double precision, and conversions.
// flash: libgcc
// truth: by running
#include "case.h"

ROOT root(int x)
{
    double value = OPAQUE(x) * 1.1;
    value = value * value - 3.7;
    return (int)(value / 0.3) + (value < -1.0) + (int)(float)value + (int)(unsigned)(value + 10.0);
}
INPUTS(0, 1, 7)
