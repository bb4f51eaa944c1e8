// An address that is pushed and popped into the program counter.
// targets: thumb1 thumb2 arm
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
    register int value __asm__("r0") = x;
    register word address __asm__("r4") = (word)helper;
#ifdef __thumb__
    __asm__ volatile(".syntax unified\n adr r3, 1f\n adds r3, #1\n mov lr, r3\n push {r4}\n pop {pc}\n .p2align 2\n 1:"
                     : "+r"(value) : "r"(address) : "r1", "r2", "r3", "r12", "lr", "cc", "memory");
#else
    __asm__ volatile("adr lr, 1f\n push {r4}\n pop {pc}\n 1:"
                     : "+r"(value) : "r"(address) : "r1", "r2", "r3", "r12", "lr", "cc", "memory");
#endif
    return value + 1;
}
INPUTS(0, 1)
