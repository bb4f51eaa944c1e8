/* The first words of flash: the stack, and the start of the C library. */
#include <stdint.h>

extern uint32_t stack_top[];
void _start(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*reset)(void);
} vectors = {stack_top, _start};
