/*
 * Time stamps at the begin and end of each job of the handler, from the counter of a Versatile PB
 *
 * A stamp is a value of the 24 MHz counter, stored in the last 16 KB of the pager's memory, which the
 * linker's script keeps free. It always takes four instructions, of which the second one reads the
 * counter: so the cost of measuring is known, and can be subtracted.
 */
#ifndef FLASHPAGER_VERSATILEPB_STAMPS_H
#define FLASHPAGER_VERSATILEPB_STAMPS_H

#include <stdint.h>

/* Points in time that the jobs of mmu/flashpager_mmu.h do not distinguish. */
#define STAMP_COMMAND 6 /* after the command for the load */
#define STAMP_FETCH 7   /* before the first byte is fetched */
#define STAMP_BEGIN 8   /* at the fault */

#define COUNTER (*(const volatile uint32_t *)0x1000005cu)
#define STAMPS ((const volatile uint32_t *)0x003fc000u)

/* A barrier for the compiler: no code moves across a stamp. */
#define STAMP(place)                                                                             \
    do {                                                                                         \
        uint32_t counter_, stamps_;                                                              \
        __asm__ volatile("mov %0, #0x10000000\n\t"                                               \
                         "ldr %0, [%0, #0x5c]\n\t"                                               \
                         "mov %1, #0x003fc000\n\t"                                               \
                         "str %0, [%1, #4 * %c2]"                                                \
                         : "=&r"(counter_), "=&r"(stamps_)                                       \
                         : "i"(place)                                                            \
                         : "memory");                                                            \
    } while (0)

#define FP_PAGER_JOB_DONE(job) STAMP(job)

#endif
