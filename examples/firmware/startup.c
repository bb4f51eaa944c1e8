#include "firmware.h"

extern uint32_t data_start[], data_end[], bss_start[], bss_end[], stack_top[];
extern const uint32_t data_load[];

int main(void);
_Noreturn void reset(void);
_Noreturn void fault(void);

_Noreturn void reset(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    console_exit(main() == 0);
}

_Noreturn void fault(void)
{
    console_text("fault\n");
    console_exit(false);
}

/* The vector table: stack pointer and 15 system exceptions. No interrupt is enabled. */
struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top,
    { reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault },
};
