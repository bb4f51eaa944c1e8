#include "firmware.h"

extern uint32_t bss_start[], bss_end[];

int main(void);
_Noreturn void reset(void);
_Noreturn void start(void);

/* The program runs in either mode of the processor: without a pager in supervisor mode, with one in
 * user mode. It begins in the ARM state. */
__attribute__((naked, target("arm"))) _Noreturn void reset(void)
{
    __asm__ volatile("ldr sp, =stack_top\n\t"
                     "ldr pc, =start");
}

__attribute__((used)) _Noreturn void start(void)
{
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    console_exit(main() == 0);
}
