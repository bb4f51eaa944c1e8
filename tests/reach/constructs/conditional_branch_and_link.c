// A call that is the last instruction of an IT block.
// targets: thumb2
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    register int value __asm__("r0") = x;
    __asm__ volatile("cmp r0, #2\n it eq\n bleq helper"
                     : "+r"(value) : : "r1", "r2", "r3", "r12", "lr", "cc", "memory");
    return value + 1;
}
INPUTS(0, 2)
