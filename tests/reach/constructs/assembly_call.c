// A call in inline assembly.
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
ROOT root(int x)
{
#if defined __arm__
    register int value __asm__("r0") = x;
    __asm__ volatile("bl helper" : "+r"(value) : : "r1", "r2", "r3", "r12", "lr", "cc", "memory");
#elif defined __aarch64__
    register int value __asm__("x0") = x;
    __asm__ volatile("bl helper" : "+r"(value) : : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
                     "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30", "cc", "memory");
#else
    register int value __asm__("a0") = x;
    __asm__ volatile("call helper" : "+r"(value) : : "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2",
                     "t3", "t4", "t5", "t6", "ra", "memory");
#endif
    return value + 1;
}
INPUTS(0, 1)
