// A function pointer behind the dots.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int apply(int count, ...)
{
    __builtin_va_list list;
    int total = 0;
    __builtin_va_start(list, count);
    while (count-- > 0) {
        int (*call)(int) = __builtin_va_arg(list, int (*)(int));
        total += call(count);
    }
    __builtin_va_end(list);
    return total;
}
ROOT root(int x) { return apply(1, helper) + x; }
INPUTS(0, 1)
