// A jump out of two calls, to where a register was saved.
// targets: thumb1 thumb2 arm rv32 rv64 aarch64
#include "case.h"

int set_jump(word *buffer) __attribute__((returns_twice));
void long_jump(word *buffer, int value) __attribute__((noreturn));
#if defined __arm__
__asm__(".section .ram.text, \"ax\", %progbits\n .syntax unified\n"
#ifdef __thumb__
        ".thumb\n .thumb_func\n"
#endif
        ".global set_jump\n .type set_jump, %function\n"
        "set_jump: mov r1, sp\n str r1, [r0]\n mov r1, lr\n str r1, [r0, #4]\n str r4, [r0, #8]\n"
        "str r5, [r0, #12]\n str r6, [r0, #16]\n str r7, [r0, #20]\n mov r1, r8\n str r1, [r0, #24]\n"
        "mov r1, r9\n str r1, [r0, #28]\n mov r1, r10\n str r1, [r0, #32]\n mov r1, r11\n"
        "str r1, [r0, #36]\n movs r0, #0\n bx lr\n .size set_jump, . - set_jump\n"
#ifdef __thumb__
        ".thumb_func\n"
#endif
        ".global long_jump\n .type long_jump, %function\n"
        "long_jump: ldr r2, [r0, #24]\n mov r8, r2\n ldr r2, [r0, #28]\n mov r9, r2\n"
        "ldr r2, [r0, #32]\n mov r10, r2\n ldr r2, [r0, #36]\n mov r11, r2\n ldr r2, [r0]\n mov sp, r2\n"
        "ldr r3, [r0, #4]\n ldr r4, [r0, #8]\n ldr r5, [r0, #12]\n ldr r6, [r0, #16]\n"
        "ldr r7, [r0, #20]\n movs r0, r1\n bx r3\n .size long_jump, . - long_jump\n .text\n");
#elif defined __aarch64__
__asm__(".section .ram.text, \"ax\"\n .global set_jump\n .type set_jump, %function\n"
        "set_jump: mov x1, sp\n stp x1, x30, [x0]\n stp x19, x20, [x0, #16]\n stp x21, x22, [x0, #32]\n"
        "stp x23, x24, [x0, #48]\n stp x25, x26, [x0, #64]\n stp x27, x28, [x0, #80]\n"
        "str x29, [x0, #96]\n mov w0, #0\n ret\n .size set_jump, . - set_jump\n"
        ".global long_jump\n .type long_jump, %function\n"
        "long_jump: ldp x2, x30, [x0]\n mov sp, x2\n ldp x19, x20, [x0, #16]\n ldp x21, x22, [x0, #32]\n"
        "ldp x23, x24, [x0, #48]\n ldp x25, x26, [x0, #64]\n ldp x27, x28, [x0, #80]\n"
        "ldr x29, [x0, #96]\n mov w0, w1\n ret\n .size long_jump, . - long_jump\n .text\n");
#else
#if __riscv_xlen == 64
#define MOVE(load, at, name) #load "d " #name ", 8*" #at "(a0)\n"
#else
#define MOVE(load, at, name) #load "w " #name ", 4*" #at "(a0)\n"
#endif
#define MOVES(load) MOVE(load, 0, sp) MOVE(load, 1, ra) MOVE(load, 2, s0) MOVE(load, 3, s1) \
    MOVE(load, 4, s2) MOVE(load, 5, s3) MOVE(load, 6, s4) MOVE(load, 7, s5) MOVE(load, 8, s6) \
    MOVE(load, 9, s7) MOVE(load, 10, s8) MOVE(load, 11, s9) MOVE(load, 12, s10) MOVE(load, 13, s11)
__asm__(".section .ram.text, \"ax\"\n .global set_jump\n .type set_jump, %function\n"
        "set_jump: " MOVES(s) "li a0, 0\n ret\n .size set_jump, . - set_jump\n"
        ".global long_jump\n .type long_jump, %function\n"
        "long_jump: " MOVES(l) "mv a0, a1\n ret\n .size long_jump, . - long_jump\n .text\n");
#endif
word buffer[16];
EITHER int recover(int x) { CLOBBER(); return x * 3 + 1; }
RAM int work(int x)
{
    CLOBBER();
    if (x > 4)
        long_jump(buffer, x);
    return x;
}
ROOT root(int x)
{
    int value = set_jump(buffer);
    if (value != 0)
        return recover(value);
    return work(x) + 1;
}
INPUTS(0, 4, 5)
