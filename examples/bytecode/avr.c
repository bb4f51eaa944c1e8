/*
 * The mote on an AVR, ATmega1284P or ATmega128, with a NAND chip on its pins: nand_pins.h has the
 * wiring
 *
 * Its host is simavr.c, to which it speaks by three registers (avr_link.h): what is written to
 * LINK_GATHER gathers, and LINK_ACT says what it is for; a read of LINK_BYTE gives the next byte of
 * the link. Where bytes of bytecode are counted, each goes to LINK_BYTE.
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

#define SAY 2
#define STOP 3
#define PUT 4

static void gather(uint32_t value, uint8_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        LINK_GATHER = (uint8_t)value;
}

static void gather_text(const char *text)
{
    do
        LINK_GATHER = PROGRAM_BYTE(*text);
    while (PROGRAM_BYTE(*text++));
}

__attribute__((noreturn)) static void leave(void)
{
    cli();
    for (;;)
        sleep_mode();
}

void vm_stop(const char *why, uint16_t at)
{
    gather(at, 4);
    gather_text(why);
    LINK_ACT = STOP;
    leave();
}

void link_put(uint8_t byte)
{
    LINK_GATHER = byte;
    LINK_ACT = PUT;
}

uint8_t link_get(void)
{
    return LINK_BYTE;
}

static void say(const char *name, uint32_t value)
{
    gather(value, 4);
    gather_text(name);
    LINK_ACT = SAY;
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
    leave();
}
