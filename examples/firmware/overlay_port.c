/* The port of the overlay's engine: a flash chip that is not mapped. The debugger fills it at the start with the
 * file flash.bin of its working folder. */
#include "flashpager_overlay.h"
#include "firmware.h"

#define SYS_OPEN 0x01
#define SYS_READ 0x06
#define MODE_RB 1
#define CHIP_BYTES 32768

static uint32_t chip[CHIP_BYTES / 4];

/* Paged functions cannot be called from here, so this file has its own way to the debugger. */
static uint32_t debugger(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static bool fill_chip(void)
{
    static const char name[] = "flash.bin";
    const uint32_t open[3] = { (uint32_t)(uintptr_t)name, MODE_RB, sizeof name - 1 };
    const uint32_t file = debugger(SYS_OPEN, open);
    const uint32_t read[3] = { file, (uint32_t)(uintptr_t)chip, sizeof chip };
    return file != UINT32_MAX && debugger(SYS_READ, read) < sizeof chip;
}

int fp_overlay_read(uint32_t at, void *to, uint32_t bytes)
{
    uint32_t *words = to;
    if (at + bytes > sizeof chip)
        return -1;
    for (uint32_t i = 0; i < bytes / 4; i++)
        words[i] = chip[at / 4 + i];
    return 0;
}

_Noreturn void fp_overlay_failed(enum fp_overlay_error error, unsigned function)
{
    char text[] = "overlay error -0, function 00000\n";
    text[15] = (char)('0' - error);
    for (unsigned at = sizeof text - 3, rest = function; rest != 0; rest /= 10)
        text[at--] = (char)('0' + rest % 10);
    console_text(text);
    console_exit(false);
}

int overlay_main(void);
int main(void);

/* Starts the engine, runs the program, and prints the engine's counts. */
int overlay_main(void)
{
    const int error = fill_chip() ? fp_overlay_start() : FP_OVERLAY_IO;
    if (error != FP_OVERLAY_OK)
        fp_overlay_failed((enum fp_overlay_error)error, 0);
    const int result = main();
#if FP_OVERLAY_STATISTICS
    const struct fp_overlay_stat *stat = fp_overlay_stat();
    console_number("calls ", stat->calls);
    console_number("\nreturns ", stat->returns);
    console_number("\nloads ", stat->loads);
    console_number("\nbytes ", stat->bytes);
    console_text("\n");
#endif
    return result;
}
