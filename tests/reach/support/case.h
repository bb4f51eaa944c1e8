/* Words of the constructs. A construct is a root in RAM and the functions and data it needs; EITHER
 * puts a part of it in flash in the variant that touches flash, and in RAM in the free one. */
#ifndef CASE_H
#define CASE_H

typedef __UINTPTR_TYPE__ word;
typedef unsigned char byte;

#define RAM __attribute__((section(".ram.text"), noinline))
#define FLASH __attribute__((section(".flash.text"), noinline))
#define RAM_CONST __attribute__((section(".ram.rodata")))
#define FLASH_CONST __attribute__((section(".flash.rodata")))
#define KEEP __attribute__((used))

#ifdef TOUCH
#define EITHER FLASH
#define EITHER_CONST FLASH_CONST
#else
#define EITHER RAM
#define EITHER_CONST RAM_CONST
#endif

/* No copy of the root is made for the constants that its caller passes. */
#if __has_attribute(noipa)
#define ROOT __attribute__((section(".ram.text"), noipa)) int
#else
#define ROOT __attribute__((section(".ram.text"), noinline)) int
#endif

/* A value that the compiler knows nothing of. It costs no instruction. */
#define OPAQUE(value)                                                                              \
    __extension__({                                                                                \
        __auto_type hidden_ = (value);                                                             \
        __asm__ volatile("" : "+r"(hidden_));                                                      \
        hidden_;                                                                                   \
    })
/* The compiler assumes that all memory has changed. */
#define CLOBBER() __asm__ volatile("" ::: "memory")

/* The inputs, and what is done with one while flash is inaccessible. */
#define INPUTS_OF_RUN(...)                                                                         \
    int case_inputs[] = {__VA_ARGS__};                                                             \
    unsigned case_count = sizeof case_inputs / sizeof *case_inputs;
#define INPUTS(...)                                                                                \
    RAM void run(int input)                                                                        \
    {                                                                                              \
        case_result = root(input);                                                                 \
    }                                                                                              \
    INPUTS_OF_RUN(__VA_ARGS__)

extern volatile int case_result;
extern int case_inputs[];
extern unsigned case_count;
void run(int input);

/* Addresses that the link script states: a word in flash, a word in RAM. */
extern const int flash_word[], ram_word[];

void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);
void *memset(void *to, int value, __SIZE_TYPE__ bytes);

#endif
