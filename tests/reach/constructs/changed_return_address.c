// A function that returns to another one than its caller.
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
int detour(int x, int (*call)(int));
#if defined __arm__
__asm__(".section .ram.text, \"ax\", %progbits\n .syntax unified\n"
#ifdef __thumb__
        ".thumb\n .thumb_func\n"
#endif
        ".global detour\n .type detour, %function\n detour: push {r4, lr}\n str r1, [sp, #4]\n mov r4, lr\n"
        "mov r12, r4\n pop {r4}\n mov lr, r12\n pop {pc}\n .size detour, . - detour\n .text\n");
#elif defined __aarch64__
__asm__(".section .ram.text, \"ax\"\n .global detour\n .type detour, %function\n"
        "detour: mov x9, x30\n str x1, [sp, #-16]!\n ldr x10, [sp], #16\n mov x30, x9\n ret x10\n"
        ".size detour, . - detour\n .text\n");
#else
__asm__(".section .ram.text, \"ax\"\n .global detour\n .type detour, %function\n"
        "detour: mv t0, a1\n jr t0\n .size detour, . - detour\n .text\n");
#endif
ROOT root(int x) { return detour(x, helper); }
INPUTS(0, 1)
