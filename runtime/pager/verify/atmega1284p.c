/*
 * The pager on an AVR, ATmega1284P: takes the runs of a trace and reports counts to its host
 *
 * The host is simavr.c. The two communicate through registers that are free otherwise:
 *   - Bytes written to GPIOR1 form a number, and the byte written to GPIOR2 says what it means.
 *   - GPIOR0 reads the next byte of runs.bin, and GPIOR1 reads 1 if there is one.
 *   - Each byte of the image that was taken is written to GPIOR0.
 *
 * With CHIP_ON_PINS the chip is a NAND on the pins. This file is then compiled as a program that uses the
 * pager: beside pager.c and nand_pins.c, all with marks.h. Otherwise the chip is emulated here, and the
 * cycles are not those of a device.
 */
#ifdef CHIP_ON_PINS
#include "../flashpager_pager.h"
#include "nand_pins.h"
#else
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_CURSORS 1
#define FP_PAGER_API static __attribute__((unused))
#include "../pager.c"
#endif

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <string.h>

#define LOAD 1
#define SAY 2
#define STOP 3
#define STARTED 4

static void send(uint32_t value, uint8_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        GPIOR1 = (uint8_t)value;
}

static __attribute__((unused)) void send_text(const char *text)
{
    do
        GPIOR1 = (uint8_t)*text;
    while (*text++);
}

__attribute__((noreturn)) static void leave(void)
{
    cli();
    for (;;)
        sleep_mode();
}

__attribute__((noreturn)) static void stop(const char *message)
{
    send_text(message);
    GPIOR2 = STOP;
    leave();
}

static __attribute__((unused)) void say(const char *name, uint32_t value)
{
    send(value, 4);
    send_text(name);
    GPIOR2 = SAY;
}

static void taken(uint8_t byte)
{
    GPIOR0 = byte;
}

static int next_run(uint32_t *offset, uint32_t *length)
{
    uint8_t bytes[8];
    if (!GPIOR1)
        return 0;
    for (uint8_t i = 0; i < 8; i++)
        bytes[i] = GPIOR0;
    memcpy(offset, bytes, 4);
    memcpy(length, bytes + 4, 4);
    return 1;
}

#ifdef CHIP_ON_PINS
#define CHIP_ILLEGAL(message) stop(message)
#define CHIP_PAGES FP_PAGER_FLASH_PAGES
#define CHIP_START() nand_start()
#define CHIP_STARTED() (GPIOR2 = STARTED)
#else
/* The size of the spare area behind each flash page in image.bin; 0 without tags. */
#ifndef CHIP_SPARE_BYTES
#define CHIP_SPARE_BYTES 0
#endif
#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
static uint8_t held[2][FP_PAGER_FLASH_PAGE_BYTES + CHIP_SPARE_BYTES];
#else
static uint8_t held[1][FP_PAGER_FLASH_PAGE_BYTES + CHIP_SPARE_BYTES];
#endif

/* The buffer that the host writes the page to. */
static void fill(uint8_t buffer, uint32_t page)
{
    send(page, 4);
    send((uint16_t)held[buffer], 2);
    send(sizeof(held[0]), 2);
    GPIOR2 = LOAD;
    __asm__ volatile("" ::: "memory");
}

#define CHIP_ILLEGAL(message) stop(message)
#define CHIP_PAGES FP_PAGER_FLASH_PAGES
#define CHIP_BYTE(page, column) (held[chip.buffer][column])
#define CHIP_LOADED(buffer, page) fill(buffer, page)
#include "../emulated/chip.h"
#endif
#include "walked.h"

int main(void)
{
    walk();
    say_counts();
    leave();
}
