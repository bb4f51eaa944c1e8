// A load into the program counter from a table of addresses.
// targets: thumb2 arm
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM KEEP int other(int x) { CLOBBER(); return x; }
__attribute__((section(".ram.text"), naked, noinline)) int choose(int x)
{
#ifdef __thumb__
    __asm__ volatile("adr r1, 1f\n ldr pc, [r1, r0, lsl #2]\n .p2align 2\n 1: .word other, helper");
#else
    __asm__ volatile("adr r1, 1f\n ldr pc, [r1, r0, lsl #2]\n 1: .word other, helper");
#endif
}
ROOT root(int x) { return choose(x & 1) + 1; }
INPUTS(0, 1)
