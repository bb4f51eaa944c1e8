// A loop whose body is entered from above first: what its first round calls counts, too.
#include "case.h"

EITHER int first(int x) { CLOBBER(); return x * 3 + 1; }
RAM int second(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    int (*call)(int) = OPAQUE(0) ? second : first;
    int sum = 0;
    do {
        sum += call(x);
        call = second;
    } while (--x > 0);
    return sum;
}
INPUTS(1, 3)
