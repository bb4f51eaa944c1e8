// A table of branches written by hand, entered by its offset.
// targets: thumb2
#include "case.h"

EITHER KEEP int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM KEEP int other(int x) { CLOBBER(); return x; }
__attribute__((section(".ram.text"), naked, noinline)) int choose(int x)
{
    __asm__ volatile("cmp r0, #2\n bhi 9f\n tbb [pc, r0]\n 1: .byte (2f - 1b) / 2, (3f - 1b) / 2, (4f - 1b) / 2\n"
                     ".p2align 1\n 2: b.w other\n 3: bx lr\n 4: b.w helper\n 9: movs r0, #0\n bx lr");
}
ROOT root(int x) { return choose(x) + 1; }
INPUTS(0, 1, 3, 2)
