// A jump of inline assembly to a label of C that calls a function.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
#if defined __arm__
    __asm__ goto("cmp %0, #7\n beq %l[rare]" : : "r"(x) : "cc" : rare);
#elif defined __aarch64__
    __asm__ goto("cmp %w0, #7\n b.eq %l[rare]" : : "r"(x) : "cc" : rare);
#else
    __asm__ goto("li t0, 7\n beq %0, t0, %l[rare]" : : "r"(x) : "t0" : rare);
#endif
    return x;
rare:
    return helper(x);
}
INPUTS(0, 7)
