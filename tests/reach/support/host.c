/* Runs the root with each input while flash is inaccessible, and prints the outcome: "free",
 * "touched ADDRESS" or "crashed ADDRESS". No libc: three system calls of Linux. */
#include "case.h"

#if defined __arm__
#define EXIT 248
#define MPROTECT 125
#define SIGACTION 174
#define WRITE 4
#else
#define EXIT 94
#define MPROTECT 226
#define SIGACTION 134
#define WRITE 64
#endif
#define SIGILL 4
#define SIGBUS 7
#define SIGSEGV 11
#define SA_SIGINFO 4
#define SA_NODEFER 0x40000000
#define PROT_NONE 0

struct action {
    void (*handler)(int number, const byte *info, void *context);
    word flags;
#ifndef __riscv
    void (*restorer)(void);
#endif
    byte mask[8];
};

volatile int case_result;
extern byte flash_begin[], flash_end[];
long host_call(long first, long second, long third, long fourth, long number);
void host_main(void);

/* The number of a system call comes last, so that the others stay where the kernel expects them. */
#if defined __arm__
__asm__(".section .ram.text, \"ax\", %progbits\n"
        ".syntax unified\n"
#ifdef __thumb__
        ".thumb\n .thumb_func\n"
#else
        ".arm\n"
#endif
        ".global host_call\n .type host_call, %function\n .p2align 2\n"
        "host_call: push {r7, lr}\n ldr r7, [sp, #8]\n svc 0\n pop {r7, pc}\n"
        ".size host_call, . - host_call\n"
        ".section .flash.start, \"ax\", %progbits\n"
#ifdef __thumb__
        ".thumb_func\n"
#endif
        ".global _start\n .type _start, %function\n"
        "_start: ldr r0, =host_main\n bx r0\n .p2align 2\n .pool\n"
        ".size _start, . - _start\n .text\n");
#elif defined __aarch64__
__asm__(".section .ram.text, \"ax\"\n .global host_call\n .type host_call, %function\n"
        "host_call: mov x8, x4\n svc 0\n ret\n .size host_call, . - host_call\n"
        ".section .flash.start, \"ax\"\n .global _start\n .type _start, %function\n"
        "_start: ldr x0, =host_main\n br x0\n .pool\n .size _start, . - _start\n .text\n");
#else
__asm__(".section .ram.text, \"ax\"\n .global host_call\n .type host_call, %function\n"
        "host_call: mv a7, a4\n ecall\n ret\n .size host_call, . - host_call\n"
        ".section .flash.start, \"ax\"\n .global _start\n .type _start, %function\n"
        "_start:\n .option push\n .option norelax\n la gp, __global_pointer$\n"
        "la t0, host_main\n .option pop\n jr t0\n .size _start, . - _start\n .text\n");
#endif

/* A table of code addresses at the start of flash, as processors have. */
__attribute__((section(".flash.vectors"), used)) static void (*const vectors[])(int) = {run, run};

RAM static void print(const char *text, word address)
{
    char line[64];
    char *end = line;

    while (*text != '\0')
        *end++ = *text++;
    *end++ = ' ';
    for (int shift = (int)sizeof(word) * 8 - 4; shift >= 0; shift -= 4) {
        word digit = address >> shift & 15u;

        *end++ = (char)(digit < 10u ? '0' + digit : 'a' + digit - 10u);
    }
    *end++ = '\n';
    host_call(1, (long)line, end - line, 0, WRITE);
    host_call(0, 0, 0, 0, EXIT);
}

RAM static void fault(int number, const byte *info, void *context)
{
    word address = *(const word *)(info + (sizeof(word) == 8u ? 16 : 12));

    (void)number;
    (void)context;
    if (address >= (word)flash_begin && address < (word)flash_end)
        print("touched", address);
    print("crashed", address);
}

RAM void host_main(void)
{
    struct action action = {.handler = fault, .flags = SA_SIGINFO | SA_NODEFER};

    host_call(SIGSEGV, (long)&action, 0, sizeof action.mask, SIGACTION);
    host_call(SIGBUS, (long)&action, 0, sizeof action.mask, SIGACTION);
    host_call(SIGILL, (long)&action, 0, sizeof action.mask, SIGACTION);
    host_call((long)flash_begin, flash_end - flash_begin, PROT_NONE, 0, MPROTECT);
    /* Data that was loaded elsewhere is no outcome. */
    if (case_count == 0 || ram_word[0] != 0x55667788)
        print("crashed", case_count);
    for (unsigned at = 0; at < case_count; at++)
        run(case_inputs[at]);
    print("free", 0);
}
