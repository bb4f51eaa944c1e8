/* Start, port and output of the programs that are paged in tests, on an LM3S6965 in QEMU. */
#include <stdint.h>

#include "board.h"

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);
volatile uint32_t ticks;
#ifdef CALLED_EARLY
uint32_t CALLED_EARLY(uint32_t x);
#endif

static uint32_t debugger(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

__attribute__((noinline)) void put_text(const char *text)
{
    debugger(4, text);
}

__attribute__((noinline, noreturn)) void stop(int failed)
{
    for (;;)
        debugger(0x18, (const void *)(failed ? 0x20023u : 0x20026u));
}

#ifdef PAGED
#include "flashpager_overlay.h"

static uint32_t chip[24576 / 4];

#ifdef READ_HOOK
uint32_t read_hook(uint32_t at);
#else
#define read_hook(at) (at)
#endif

int fp_overlay_read(uint32_t at, void *to, uint32_t bytes)
{
    at = read_hook(at);
#ifdef READ_FAILS_AT
    if (at == READ_FAILS_AT)
        return -1;
#endif
    volatile uint32_t *words = to;
    for (uint32_t i = 0; i < bytes / 4; i++)
        words[i] = chip[at / 4 + i];
    return 0;
}

_Noreturn void fp_overlay_failed(enum fp_overlay_error error, unsigned function)
{
    uint64_t aligned;
    uintptr_t at_aligned = (uintptr_t)&aligned;
    __asm__ volatile("" : "+r"(at_aligned));
    if (at_aligned % 8)
        put_text("stack not aligned\n");
    char text[] = "overlay error -0, function 00000\n";
    text[15] = (char)('0' - error);
    for (unsigned at = sizeof text - 3, rest = function; rest != 0; rest /= 10)
        text[at--] = (char)('0' + rest % 10);
    put_text(text);
    stop(1);
}

__attribute__((noinline)) void start_paging(void)
{
    const uint32_t open[3] = { (uint32_t)(uintptr_t)"flash.bin", 1, 9 };
    const uint32_t file = debugger(1, open);
    const uint32_t read[3] = { file, (uint32_t)(uintptr_t)chip, sizeof chip };
    debugger(6, read);
    const int error = fp_overlay_start();
    if (error)
        fp_overlay_failed((enum fp_overlay_error)error, 0);
}
#endif

#ifdef CONSTRUCTORS
extern void (*const __init_array_start[])(void), (*const __init_array_end[])(void);

__attribute__((noinline)) void construct(void)
{
    for (void (*const *at)(void) = __init_array_start; at < __init_array_end; at++)
        (*at)();
}
#endif

#ifdef START_BY_POINTER
#ifdef PAGED
void (*volatile start_by_pointer)(void) = start_paging;
#else
void (*volatile start_by_pointer)(void);
#endif
#endif

void reset(void)
{
    const uint32_t *from = data_load;
    for (volatile uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (volatile uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
#ifdef CALLED_EARLY
    CALLED_EARLY(1);
#endif
#ifdef CONSTRUCTORS
    construct();
#endif
#ifdef START_BY_POINTER
    if (start_by_pointer)
        start_by_pointer();
#elif defined PAGED
    start_paging();
#endif
    *(volatile uint32_t *)0xe000e014 = TICK_CYCLES - 1; /* reload value of SysTick */
    *(volatile uint32_t *)0xe000e018 = 0;
    *(volatile uint32_t *)0xe000e010 = TICK_CYCLES ? 7 : 0;
    stop(main());
}

__attribute__((weak)) void tick(void)
{
    ticks++;
}

void fault(void)
{
    put_text("fault\n");
    stop(1);
}

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault, 0, 0, 0, 0, (void *)fault, (void *)fault, 0, (void *)fault, (void *)tick,
};
