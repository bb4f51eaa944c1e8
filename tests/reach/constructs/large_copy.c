// A structure of 400 bytes that is assigned: memcpy.
// flash: memory
// truth: by running
#include "case.h"

struct large { int values[100]; };
struct large left, right;
ROOT root(int x)
{
    right.values[x & 63] = x;
    left = right;
    CLOBBER();
    return left.values[x & 31];
}
INPUTS(0, 15)
