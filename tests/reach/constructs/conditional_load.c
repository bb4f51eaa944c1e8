// A load in an IT block that is executed only if its address is in flash.
// targets: thumb2
#include "case.h"

EITHER_CONST KEEP const int constant = 77;
ROOT root(int x)
{
    int value = x;
    __asm__ volatile("movw r3, #:lower16:constant\n movt r3, #:upper16:constant\n cmp %0, #2\n it eq\n"
                     "ldreq %0, [r3]" : "+r"(value) : : "r3", "cc", "memory");
    return value + 1;
}
INPUTS(0, 2)
