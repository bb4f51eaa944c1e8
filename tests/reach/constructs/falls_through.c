// A function that runs on into the next one, as library assembly does.
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
int enter(int x);
#if defined __arm__
__asm__(".section .ram.text, \"ax\", %progbits\n .syntax unified\n"
#ifdef __thumb__
        ".thumb\n .thumb_func\n"
#endif
        ".global enter\n .type enter, %function\n enter: adds r0, r0, #1\n .size enter, . - enter\n"
#ifdef __thumb__
        ".thumb_func\n"
#endif
        ".global goes_on\n .type goes_on, %function\n goes_on: push {r4, lr}\n bl helper\n pop {r4, pc}\n"
        ".size goes_on, . - goes_on\n .text\n");
#elif defined __aarch64__
__asm__(".section .ram.text, \"ax\"\n .global enter\n .type enter, %function\n enter: add w0, w0, #1\n"
        ".size enter, . - enter\n .global goes_on\n .type goes_on, %function\n"
        "goes_on: stp x29, x30, [sp, #-16]!\n bl helper\n ldp x29, x30, [sp], #16\n ret\n"
        ".size goes_on, . - goes_on\n .text\n");
#else
__asm__(".section .ram.text, \"ax\"\n .global enter\n .type enter, %function\n enter: addi a0, a0, 1\n"
        ".size enter, . - enter\n .global goes_on\n .type goes_on, %function\n"
        "goes_on: addi sp, sp, -16\n"
#if __riscv_xlen == 64
        "sd ra, 8(sp)\n call helper\n ld ra, 8(sp)\n"
#else
        "sw ra, 12(sp)\n call helper\n lw ra, 12(sp)\n"
#endif
        "addi sp, sp, 16\n ret\n .size goes_on, . - goes_on\n .text\n");
#endif
ROOT root(int x) { return enter(x); }
INPUTS(0, 1)
