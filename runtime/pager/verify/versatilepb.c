/*
 * The pager on an ARM926EJ-S with its MMU, on a Versatile PB: runs a program and prints counts
 *
 * QEMU loads this firmware and the program, an ELF file that could run without a pager. The program's code
 * stays where it was loaded: those bytes are the contents of the emulated flash chip, and are visible to
 * nobody else. The program runs in user mode, with the pages of its code mapped to frames and all other
 * memory to its own addresses. It writes and ends by semihosting, which the firmware passes on. At its end
 * come a line "--- pager", which is the last one of that text, and lines with the counts. `flashpager
 * verify` compiles and runs it.
 *
 * The design also defines FP_VERIFY_ENTRY, the address where the program begins, with its last bit set for
 * Thumb. With FP_VERIFY_TIMES the handler's jobs are timed, and their times follow the counts: see
 * versatilepb_times.h. With FP_VERIFY_INTERRUPTS a timer interrupts the program: see
 * versatilepb_interrupts.h.
 *
 * Another machine with such a processor includes this file, as n800.c does, and defines before it
 * MACHINE_RAM, the address of its RAM, MACHINE_IRQ, machine_failure(), machine_say() and machine_start(),
 * and the pager's port to its flash chip.
 */
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_API static __attribute__((unused))
#include "../flashpager_pager.h"

#ifndef FP_VERIFY_TIMES
#define FP_VERIFY_TIMES 0
#endif
#ifndef FP_VERIFY_INTERRUPTS
#define FP_VERIFY_INTERRUPTS 0
#endif
#if FP_VERIFY_TIMES
#include "versatilepb_stamps.h"
#elif FP_VERIFY_INTERRUPTS
#include "versatilepb_interrupts.h"
#endif
#include "../pager.c"

#include "../mmu/arm926.c"

#ifndef MACHINE_RAM
#define MACHINE_RAM 0u
#if FP_VERIFY_INTERRUPTS
#define MACHINE_IRQ "interrupt"
#else
#define MACHINE_IRQ "unexpected"
#endif
#define MACHINE_IS_VERSATILEPB 1
#else
#define MACHINE_IS_VERSATILEPB 0
#endif

/* The error of the page that failed. */
static const char *machine_failure(void);
/* Counts beside the pager's. */
static void machine_say(void);
/* Called before the pager starts. The table maps all of RAM to its own addresses. */
static void machine_start(uint32_t *level_1);

#define SYS_WRITE0 0x04
#define SYS_EXIT 0x18
#define ADP_STOPPED_RUN_TIME_ERROR 0x20023

#define RAM_MEGABYTES 128u
/* An entry of a first-level table: a section of domain 0, which all may read and write. */
#define SECTION(megabyte) ((megabyte) << 20 | 0xc12u)

void start(void);

/* Not inlined, as Thumb code has no such call. */
__attribute__((noinline)) static int32_t semihost(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uint32_t r1 __asm__("r1") = argument;
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
    return (int32_t)r0;
}

static void write_text(const char *text)
{
    semihost(SYS_WRITE0, (uint32_t)(uintptr_t)text);
}

static void write_number(uint32_t value)
{
    char digits[12] = {0};
    unsigned at = sizeof(digits) - 1;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    digits[--at] = ' ';
    write_text(digits + at);
}

static void say(const char *name, uint32_t value)
{
    write_text(name);
    write_number(value);
    write_text("\n");
}

/* Begins the firmware's own lines. The program may have left its last line open: a bar ends it, so that a
 * "\r" of the program and the "\n" here do not become one end of a line. */
static void take_the_word(void)
{
    write_text("|\n--- pager\n");
}

_Noreturn static void end_with(const char *message)
{
    write_text("error ");
    write_text(message);
    write_text("\n");
    for (;;)
        semihost(SYS_EXIT, ADP_STOPPED_RUN_TIME_ERROR);
}

_Noreturn static void stop(const char *message)
{
    take_the_word();
    end_with(message);
}

static uint32_t literals;

#if MACHINE_IS_VERSATILEPB
/* The address of a second view of all RAM, without pages. */
#define FLAT 0x80000000u
#define CODE_BYTE(offset) (*(const uint8_t *)(uintptr_t)(FLAT + FP_ARM926_CODE + (offset)))
#if FP_VERIFY_TIMES
#include "versatilepb_times.h"
#define CHIP_LOADED(buffer, page) load_starts((buffer) != chip.buffer)
#define CHIP_WAITS() load_ends()
#define CHIP_FETCH(to, page, column, size)                                                       \
    fetch_for(to, &CODE_BYTE((page)*FP_PAGER_FLASH_PAGE_BYTES + (column)), size)
#endif
#if FP_PAGER_CRITICAL_BYTES
#if FP_VERIFY_TIMES
#define CHIP_REST_BEGINS() rest_begins()
#define CHIP_REST_IS_THERE() rest_is_there()
#define CHIP_REST_WAITS() rest_waits()
#endif
/* The board's DMA controller, a PL080: its first channel copies words from memory to memory. QEMU
 * copies when the channel is enabled, and at once: that is when the bus has had its time. */
#define DMA(offset) (*(volatile uint32_t *)(0x10130000u + (offset)))
#define DMA_SIZE 0xfffu
#define DMA_WORDS (2u << 18 | 2u << 21 | 1u << 26 | 1u << 27)

static void dma(uint8_t *to, uint32_t offset, uint32_t size)
{
    DMA(0x030) = 1;
    DMA(0x100) = FP_ARM926_CODE + offset;
    DMA(0x104) = (uint32_t)(uintptr_t)to;
    DMA(0x108) = 0;
    DMA(0x10c) = DMA_WORDS | size / 4u;
    DMA(0x110) = 1;
    if (DMA(0x10c) & DMA_SIZE)
        stop("a transfer by DMA that does not end");
}
#define CHIP_MOVE(to, page, column, size)                                                        \
    dma(to, (page)*FP_PAGER_FLASH_PAGE_BYTES + (column), size)
#endif
#define CHIP_ILLEGAL(message) stop(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) CODE_BYTE((page)*FP_PAGER_FLASH_PAGE_BYTES + (column))
#include "../emulated/chip.h"

#if !FP_ARM926_PAGES_READS
FP_PAGER_API int fp_flash_peek(fp_offset offset, uint8_t *to, uint_fast8_t size)
{
    literals++;
    for (uint_fast8_t i = 0; i < size; i++)
        to[i] = CODE_BYTE(offset + i);
    return FP_PAGER_OK;
}
#endif

static const char *machine_failure(void)
{
    return "a page that fails";
}

static void machine_say(void)
{
    say("chip_loads", chip.counts.loads);
    say("chip_prefetches", chip.counts.prefetches);
    say("chip_column_changes", chip.counts.column_changes);
    say("chip_bytes_fetched", chip.counts.bytes_fetched);
    say("chip_bytes_skipped", chip.counts.bytes_skipped);
#if FP_VERIFY_INTERRUPTS
    interrupts_end();
#endif
}

static void machine_start(uint32_t *level_1)
{
    for (uint32_t i = 0; i < RAM_MEGABYTES; i++)
        level_1[(FLAT >> 20) + i] = SECTION(i);
    for (uint32_t i = 0x100; i < 0x102; i++)
        level_1[i] = SECTION(i);
    chip_reset();
#if FP_VERIFY_INTERRUPTS
    interrupts_start();
#endif
}
#endif

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

#if FP_PAGER_CODEWORD_BYTES
/* The chip never needs a correction. */
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *word)
{
    (void)word;
    if (column % FP_PAGER_CODEWORD_BYTES || page >= CHIP_PAGES)
        stop("a codeword beyond the page");
    return 0;
}
#endif

FP_PAGER_API void fp_arm926_failed(uint32_t pc, uint32_t address, int error)
{
    take_the_word();
    say("at", pc);
    say("access", address);
    switch (error) {
    case FP_PAGER_OUTSIDE:
        end_with("an access that the pager does not know");
    case FP_PAGER_DAMAGED:
        end_with("a list of the pager that is damaged");
    case FP_PAGER_BUSY:
        end_with("a fault inside the handler");
    default:
        end_with(machine_failure());
    }
}

/* Ends the program. */
__attribute__((used)) static void ended(void)
{
    const struct fp_pager_stat *of = fp_pager_stat();
    take_the_word();
    say("misses", of->misses);
    say("false_faults", of->false_faults);
    say("reference_bits_set", of->reference_bits_set);
    say("downgrades", of->downgrades);
    say("walk", of->walk);
    say("max_walk", of->max_walk);
    say("loads", of->loads);
    say("prefetches", of->prefetches);
    say("other_page", of->other_page);
    say("other_buffer", of->other_buffer);
    say("forward", of->forward);
    say("backward", of->backward);
    say("column_changes", of->column_changes);
    say("bytes_fetched", of->bytes_fetched);
    say("bytes_skipped", of->bytes_skipped);
    machine_say();
    say("literals", literals);
#if FP_PAGER_CRITICAL_BYTES
    say("rest_faults", of->rest_faults);
#endif
#if FP_VERIFY_TIMES
    say_times();
#endif
}

__attribute__((used)) static void unexpected(void)
{
    stop("an exception of the processor");
}

static uint32_t level_1[4096] __attribute__((aligned(16384)));

__attribute__((used)) void start(void)
{
    /* User mode, in the Thumb state if the entry's last bit is set. Interrupts are on, but come only if a
     * device was told to send them. */
    const uint32_t status = 0x50u | (FP_VERIFY_ENTRY & 1u) << 5;
    for (uint32_t i = 0; i < RAM_MEGABYTES; i++)
        level_1[(MACHINE_RAM >> 20) + i] = SECTION((MACHINE_RAM >> 20) + i);
    machine_start(level_1);
    if (fp_pager_start())
        stop("the pager does not start");
    fp_arm926_start(level_1);
    __asm__ volatile("mcr p15, 0, %0, c2, c0, 0\n\t"
                     "mcr p15, 0, %1, c3, c0, 0\n\t"
                     "mrc p15, 0, r12, c1, c0, 0\n\t"
                     "orr r12, r12, #1\n\t"
                     "mcr p15, 0, r12, c1, c0, 0\n\t"
                     "nop\n\tnop\n\t"
                     "msr spsr_cxsf, %3\n\t"
                     "mov lr, %2\n\t"
                     "movs pc, lr"
                     :
                     : "r"(level_1), "r"(1), "r"(FP_VERIFY_ENTRY & ~1u), "r"(status)
                     : "r12", "lr", "memory");
}

/* The stacks of supervisor, abort and interrupt mode; QEMU has cleared all memory. */
__attribute__((used)) static uint32_t stacks[3][1024] __attribute__((aligned(8)));

#if FP_VERIFY_TIMES
#define PREFETCH_ABORT "timed_prefetch_abort"
#else
#define PREFETCH_ABORT "fp_arm926_prefetch_abort"
#endif

__asm__(".section .vectors, \"ax\"\n"
        ".arm\n"
        "    ldr pc, =reset\n"
        "    ldr pc, =unexpected\n"
        "    ldr pc, =supervisor_call\n"
        "    ldr pc, =" PREFETCH_ABORT "\n"
        "    ldr pc, =fp_arm926_data_abort\n"
        "    ldr pc, =unexpected\n"
        "    ldr pc, =" MACHINE_IRQ "\n"
        "    ldr pc, =unexpected\n"
        "    .ltorg\n"
        ".text\n"
        ".global reset\n"
        "reset:\n"
        "    msr cpsr_c, #0xd7\n"
        "    ldr sp, =stacks + 8192\n"
        "    msr cpsr_c, #0xd2\n"
        "    ldr sp, =stacks + 12288\n"
        "    msr cpsr_c, #0xd3\n"
        "    ldr sp, =stacks + 4096\n"
        "    b start\n"
        /* Passes semihosting calls of the program on. SYS_EXIT and SYS_EXIT_EXTENDED print the counts first. */
        "supervisor_call:\n"
        "    push {r1-r4, r12, lr}\n"
        "    cmp r0, #0x18\n"
        "    cmpne r0, #0x20\n"
        "    push {r0, r1}\n"
        "    bleq ended\n"
        "    pop {r0, r1}\n"
        "    svc 0x123456\n"
        "    ldm sp!, {r1-r4, r12, pc}^\n"
        "    .ltorg\n");
