#include "firmware.h"

#define SYS_WRITE0 0x04
#define SYS_EXIT 0x18
#define ADP_STOPPED_RUN_TIME_ERROR 0x20023
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

static void semihost(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uint32_t r1 __asm__("r1") = argument;
#if __ARM_ARCH_PROFILE == 'M'
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#elif defined(__thumb__)
    __asm__ volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
#else
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
#endif
}

void console_text(const char *text)
{
    semihost(SYS_WRITE0, (uint32_t)(uintptr_t)text);
}

void console_number(const char *label, uint32_t value)
{
    char digits[12];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    console_text(label);
    console_text(digits + at);
}

_Noreturn void console_exit(bool success)
{
    semihost(SYS_EXIT, success ? ADP_STOPPED_APPLICATION_EXIT : ADP_STOPPED_RUN_TIME_ERROR);
    for (;;) {
    }
}
