// A function pointer that is read as another member of a union.
#include "case.h"

union value { int (*call)(int); word number; byte bytes[sizeof(word)]; };
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    volatile union value value;
    value.call = helper;
    value.number += 4;
    value.number -= 4;
    return value.call(x) + 1;
}
INPUTS(0, 3)
