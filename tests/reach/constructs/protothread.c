// A thread without a stack: a switch into a loop.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
static int line, count;
ROOT root(int x)
{
    switch (line) {
    case 0:
        for (count = 0; count < 3; count++) {
            line = 1;
            return 1;
    case 1:
            line = 2;
            return x;
    case 2:
            x += count;
        }
        line = 0;
        return helper(x);
    }
    return 0;
}
INPUTS(0, 0, 0, 0, 0, 0, 0, 0, 0)
