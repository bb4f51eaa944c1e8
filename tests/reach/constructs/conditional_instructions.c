// IT blocks written by hand: the address of a function depends on a condition.
// targets: thumb2
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM KEEP int other(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    register int value __asm__("r0") = x;
    __asm__ volatile("movw r3, #:lower16:other\n movt r3, #:upper16:other\n cmp r0, #2\n itt eq\n"
                     "movweq r3, #:lower16:helper\n movteq r3, #:upper16:helper\n blx r3"
                     : "+r"(value) : : "r1", "r2", "r3", "r12", "lr", "cc", "memory");
    return value + 1;
}
INPUTS(0, 2)
