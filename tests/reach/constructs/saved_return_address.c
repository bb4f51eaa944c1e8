// A return address on the stack that a callee overwrites through a given buffer.
// targets: aarch64 rv32 rv64 thumb1 thumb2 arm
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM void fill(word *buffer, int x)
{
    CLOBBER();
    buffer[x] = (word)helper;
}
int framed(int x);
#if defined __arm__
__asm__(".section .ram.text, \"ax\", %progbits\n .syntax unified\n"
#ifdef __thumb__
        ".thumb\n .thumb_func\n"
#endif
        ".global framed\n .type framed, %function\n framed: push {r4, lr}\n sub sp, sp, #16\n mov r4, lr\n"
        "mov r1, r0\n mov r0, sp\n bl fill\n add sp, sp, #16\n mov lr, r4\n pop {r4, pc}\n"
        ".size framed, . - framed\n .text\n");
#define AT 5
#elif defined __aarch64__
__asm__(".section .ram.text, \"ax\"\n .global framed\n .type framed, %function\n"
        "framed: sub sp, sp, #48\n stp x19, x30, [sp, #32]\n mov x19, x30\n mov w1, w0\n mov x0, sp\n bl fill\n"
        "ldr x9, [sp, #40]\n mov x30, x19\n ldr x19, [sp, #32]\n add sp, sp, #48\n br x9\n"
        ".size framed, . - framed\n .text\n");
#define AT 5
#else
#if __riscv_xlen == 64
#define STORE "sd "
#define LOAD "ld "
#define WORD "8*"
#else
#define STORE "sw "
#define LOAD "lw "
#define WORD "4*"
#endif
__asm__(".section .ram.text, \"ax\"\n .global framed\n .type framed, %function\n"
        "framed: addi sp, sp, -64\n" STORE "ra, " WORD "5(sp)\n" STORE "s0, " WORD "4(sp)\n mv s0, ra\n"
        "mv a1, a0\n mv a0, sp\n call fill\n" LOAD "t0, " WORD "5(sp)\n mv ra, s0\n" LOAD "s0, " WORD "4(sp)\n"
        "addi sp, sp, 64\n jr t0\n .size framed, . - framed\n .text\n");
#define AT 5
#endif
ROOT root(int x) { return framed(x == 2 ? AT : x); }
INPUTS(0, 1, 2)
