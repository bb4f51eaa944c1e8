/*
 * The pager on a Cortex-M3, LM3S6965: takes the runs of a trace and prints counts, by semihosting
 *
 * The program reads runs.bin: offset and length of each run, 4 bytes each, the least significant first. It
 * takes all bytes of the runs through a cursor; the chip's pages are those of image.bin. At its end it
 * prints a line for each count, and the CRC-32 of all bytes in their order. `flashpager verify` compiles
 * and runs it.
 */
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_CURSORS 1
#define FP_PAGER_API static __attribute__((unused))
#include "../pager.c"

#define SYS_OPEN 0x01
#define SYS_WRITE0 0x04
#define SYS_READ 0x06
#define SYS_SEEK 0x0a
#define SYS_EXIT 0x18
#define ADP_STOPPED_RUN_TIME_ERROR 0x20023
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

extern uint32_t bss_start[], bss_end[], stack_top[];
_Noreturn void reset(void);
_Noreturn void fault(void);

static int32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

_Noreturn static void leave(uint32_t why)
{
    for (;;)
        semihost(SYS_EXIT, (const void *)(uintptr_t)why);
}

_Noreturn static void stop(const char *message)
{
    semihost(SYS_WRITE0, "error ");
    semihost(SYS_WRITE0, message);
    semihost(SYS_WRITE0, "\n");
    leave(ADP_STOPPED_RUN_TIME_ERROR);
}

static void say(const char *name, uint32_t value)
{
    char digits[12] = {0};
    unsigned at = sizeof(digits) - 2;
    digits[at] = '\n';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    semihost(SYS_WRITE0, name);
    semihost(SYS_WRITE0, " ");
    semihost(SYS_WRITE0, digits + at);
}

static uint32_t open_file(const char *name, uint32_t length)
{
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, 1 /* rb */, length};
    const int32_t file = semihost(SYS_OPEN, block);
    if (file < 0)
        stop("a file cannot be opened");
    return (uint32_t)file;
}

/* Returns how many bytes were not read. */
static uint32_t read_file(uint32_t file, void *to, uint32_t size)
{
    const uint32_t block[3] = {file, (uint32_t)(uintptr_t)to, size};
    return (uint32_t)semihost(SYS_READ, block);
}

/* The chip: a load reads the page from the file. */
/* The size of the spare area behind each flash page in image.bin; 0 without tags. */
#ifndef CHIP_SPARE_BYTES
#define CHIP_SPARE_BYTES 0
#endif
#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
static uint8_t held[2][FP_PAGER_FLASH_PAGE_BYTES + CHIP_SPARE_BYTES];
#else
static uint8_t held[1][FP_PAGER_FLASH_PAGE_BYTES + CHIP_SPARE_BYTES];
#endif
static uint32_t image;

static void fill(uint8_t buffer, uint32_t page)
{
    const uint32_t seek[2] = {image, page * (uint32_t)sizeof(held[0])};
    if (semihost(SYS_SEEK, seek) || read_file(image, held[buffer], sizeof(held[0])))
        stop("image.bin has no such page");
}

#define CHIP_ILLEGAL(message) stop(message)
#define CHIP_PAGES FP_PAGER_FLASH_PAGES
#define CHIP_BYTE(page, column) (held[chip.buffer][column])
#define CHIP_LOADED(buffer, page) fill(buffer, page)
#include "../emulated/chip.h"

static uint32_t crc_table[16];

static uint32_t crc_of(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    crc = crc >> 4 ^ crc_table[crc & 15];
    return crc >> 4 ^ crc_table[crc & 15];
}

static uint32_t crc;

static void taken(uint8_t byte)
{
    crc = crc_of(crc, byte);
}

static uint32_t file_of_runs;

static int next_run(uint32_t *offset, uint32_t *length)
{
    static struct {
        uint32_t offset;
        uint32_t length;
    } runs[128];
    static uint32_t there, next;
    if (next == there) {
        there = (sizeof(runs) - read_file(file_of_runs, runs, sizeof(runs))) / sizeof(runs[0]);
        next = 0;
        if (there == 0)
            return 0;
    }
    *offset = runs[next].offset;
    *length = runs[next++].length;
    return 1;
}

#include "walked.h"

_Noreturn void reset(void)
{
    for (uint32_t *at = bss_start; at < bss_end; at++)
        *at = 0;
    crc = 0xffffffffu;
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t entry = i;
        for (unsigned bit = 0; bit < 4; bit++)
            entry = entry >> 1 ^ (entry & 1 ? 0xedb88320u : 0);
        crc_table[i] = entry;
    }
    image = open_file("image.bin", 9);
    file_of_runs = open_file("runs.bin", 8);
    walk();
    say_counts();
    say("crc", ~crc);
    leave(ADP_STOPPED_APPLICATION_EXIT);
}

_Noreturn void fault(void)
{
    stop("a fault of the processor");
}

/* The stack pointer, then the 15 system exceptions; no interrupt is enabled. */
struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top,
    {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault},
};
