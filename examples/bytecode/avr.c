/*
 * The mote on an AVR, ATmega1284P or ATmega128, with a NAND chip on its pins. nand_pins.h has the
 * wiring.
 *
 * The mote exchanges data with the simulator, simavr.c, through the three registers of avr_link.h.
 * Bytes written to LINK_BUFFER are kept until a command is written to LINK_COMMAND, which processes
 * them. A read of LINK_BYTE returns the next byte from the link. If bytes of bytecode are counted, each
 * one is written to LINK_BYTE.
 */
#include "avr_link.h"
#include "interpreter.h"
#include "mote.h"
#include "program_memory.h"

#ifndef MEMORY_IN_PLACE
#include "flashpager_pager.h"
#include "verify/nand_pins.h"
#endif

#include <avr/interrupt.h>
#include <avr/sleep.h>

/* Commands for LINK_COMMAND, as simavr.c has them. */
#define COMMAND_PRINT 2 /* print a count: its value in 4 bytes, and its name */
#define COMMAND_STOP 3  /* stop with a message: an offset in 4 bytes, and the reason */
#define COMMAND_SEND 4  /* send the bytes over the link */

/* Writes the lowest bytes of a number to the buffer, the least significant first. */
static void buffer_number(uint32_t value, uint8_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        LINK_BUFFER = (uint8_t)value;
}

/* Writes a text of PROGRAM_TEXT() to the buffer, with its final 0. */
static void buffer_text(const char *text)
{
    do
        LINK_BUFFER = PROGRAM_BYTE(*text);
    while (PROGRAM_BYTE(*text++));
}

/* Sleeps with interrupts off, at which simavr ends the run. */
__attribute__((noreturn)) static void halt(void)
{
    cli();
    for (;;)
        sleep_mode();
}

void vm_stop(const char *reason, uint16_t offset)
{
    buffer_number(offset, 4);
    buffer_text(reason);
    LINK_COMMAND = COMMAND_STOP;
    halt();
}

void link_put(uint8_t byte)
{
    LINK_BUFFER = byte;
    LINK_COMMAND = COMMAND_SEND;
}

uint8_t link_get(void)
{
    return LINK_BYTE;
}

static void print_count(const char *name, uint32_t value)
{
    buffer_number(value, 4);
    buffer_text(name);
    LINK_COMMAND = COMMAND_PRINT;
}

#ifndef MEMORY_IN_PLACE
int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}
#endif

int main(void)
{
#ifndef MEMORY_IN_PLACE
    nand_start();
    if (fp_pager_start())
        vm_stop(PROGRAM_TEXT("the pager does not start"), 0);
#endif
    mote_run(MOTE_ADDRESS);
#include "counts.h"
    halt();
}
