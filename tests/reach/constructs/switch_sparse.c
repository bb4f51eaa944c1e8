// A switch whose cases are far apart: comparisons.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    switch (x) {
    case 3: return helper(x);
    case 3000: return x + 1;
    case 70000: return x + 7;
    case -1234567: return x ^ 3;
    }
    return 0;
}
INPUTS(3000, 70000, -1234567, 5, 3)
