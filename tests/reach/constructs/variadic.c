// A function with a variable number of arguments, which sums them with a helper.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int sum(int count, ...)
{
    __builtin_va_list list;
    int total = 0;
    __builtin_va_start(list, count);
    while (count-- > 0)
        total += helper(__builtin_va_arg(list, int));
    __builtin_va_end(list);
    return total;
}
ROOT root(int x) { return sum(6, x, 2, x, 4, 5, x); }
INPUTS(0, 1)
