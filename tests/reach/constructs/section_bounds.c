// A loop over a table of functions between two addresses that the link script states.
#include "case.h"

EITHER int last(int x) { CLOBBER(); return x * 3 + 1; }
RAM int first(int x) { CLOBBER(); return x; }
__attribute__((section(".ram.calls"), used)) static int (*const call_first)(int) = first;
__attribute__((section(".ram.calls"), used)) static int (*const call_last)(int) = last;
extern int (*const calls_begin[])(int), (*const calls_end[])(int);
ROOT root(int x)
{
    int sum = 0;
    for (int (*const *call)(int) = calls_begin; call < calls_end; call++)
        sum += (*call)(x);
    return sum;
}
INPUTS(0, 1)
