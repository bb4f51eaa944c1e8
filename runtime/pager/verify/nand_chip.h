/*
 * An emulated parallel NAND chip on the pins of an AVR in simavr
 *
 * The chip sees levels, as a real one does: an edge of WE# latches a command or an address, an edge of
 * RE# puts the next byte on the bus, and R/B# is low for t_R after a load. It stops the program at a
 * command that a real chip could not execute. It counts its operations, and distinguishes bytes that the
 * AVR read from bytes that it skipped. The pins are those of nand_pins.h. The including file has
 * stop(what), which does not return.
 */
#ifndef FLASHPAGER_NAND_CHIP_H
#define FLASHPAGER_NAND_CHIP_H

#include "nand_pins.h"

#include <simavr/avr_ioport.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_cycle_timers.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAND_ADDRESSES 5
#define NAND_FLOATS 0xff
#define NAND_IO_PINS 0x20 /* PINA in the memory of most AVRs, as of an ATmega1284P */

/* A kind of chip. Times are in cycles of the AVR. */
struct nand_kind {
    uint32_t page_bytes;
    uint32_t spare_bytes; /* of each page, behind its data */
    uint32_t pages;
    uint32_t t_r;
    uint32_t t_rc; /* from an edge of RE# to the next, and of WE# */
    uint32_t t_ccs;
    uint16_t io_pins; /* PINA in the AVR's memory; 0 for NAND_IO_PINS */
    FILE *image; /* page behind page, each with its spare area */
};

/* The operations of the chip. */
struct nand_counts {
    uint32_t loads;
    uint32_t column_changes;
    uint32_t bytes_fetched; /* including those that were skipped */
    uint32_t bytes_skipped;
    uint32_t spare_bytes_fetched;
};

static struct {
    avr_t *avr;
    struct nand_kind kind;
    struct nand_counts counts;
    avr_irq_t *io, *state;
    uint8_t *held;     /* the register */
    uint8_t has_page;
    uint8_t is_busy;
    uint8_t is_status; /* the next reads give the status */
    uint8_t control;   /* levels of the control pins */
    uint8_t is_looked_at;
    uint8_t command;   /* whose address is being latched; NAND_RESET if none */
    uint8_t addresses[NAND_ADDRESSES];
    unsigned count;    /* of latched addresses */
    uint32_t column;
    avr_cycle_count_t fell;   /* the last falling edge of RE# or WE# */
    avr_cycle_count_t usable; /* t_CCS after the last column change */
} nand;

static void nand_demand(int holds, const char *message)
{
    if (!holds)
        stop(message);
}

static void nand_drive(uint8_t byte)
{
    uint8_t changed = (uint8_t)(byte ^ nand.avr->data[nand.kind.io_pins]);
    for (unsigned pin = 0; changed; pin++, changed >>= 1)
        if (changed & 1)
            avr_raise_irq(nand.io + IOPORT_IRQ_PIN0 + pin, byte >> pin & 1);
}

static void nand_set_busy(uint8_t is_busy)
{
    nand.is_busy = is_busy;
    avr_raise_irq(nand.state + IOPORT_IRQ_PIN0 + NAND_READY_PIN, !is_busy);
}

static avr_cycle_count_t nand_ready(avr_t *avr, avr_cycle_count_t when, void *context)
{
    (void)avr;
    (void)when;
    (void)context;
    nand_set_busy(0);
    return 0;
}

static uint32_t nand_number(unsigned from, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)nand.addresses[from + i] << 8 * i;
    return value;
}

static int nand_is_small(void)
{
    return nand.kind.page_bytes <= NAND_SMALL_PAGE_BYTES;
}

static unsigned nand_column_cycles(void)
{
    return nand_is_small() ? 1 : 2;
}

static void nand_load(void)
{
    const unsigned columns = nand_column_cycles();
    const uint32_t page = nand_number(columns, NAND_ROW_CYCLES);
    const uint32_t whole = nand.kind.page_bytes + nand.kind.spare_bytes;
    nand.column = nand_number(0, columns) + (nand.command == NAND_READ_UPPER ? 256u : 0u);
    nand_demand(page < nand.kind.pages, "load of a page beyond the chip");
    nand_demand(nand.column < nand.kind.page_bytes, "load at a column beyond the page");
    if (fseek(nand.kind.image, (long)page * (long)whole, SEEK_SET) ||
        fread(nand.held, 1, whole, nand.kind.image) != whole)
        stop("image.bin has no such page");
    nand.has_page = 1;
    nand.is_status = 0;
    nand.command = NAND_RESET;
    nand.counts.loads++;
    nand_set_busy(1);
    avr_cycle_timer_register(nand.avr, nand.kind.t_r, nand_ready, NULL);
}

static void nand_command(uint8_t command)
{
    nand_demand(!nand.is_busy || command == NAND_STATUS || command == NAND_RESET,
                "command while busy");
    switch (command) {
    case NAND_RESET:
        nand.has_page = 0;
        nand.command = NAND_RESET;
        break;
    case NAND_STATUS:
        nand.is_status = 1;
        return;
    case NAND_READ:
    case NAND_READ_UPPER:
        nand_demand(command == NAND_READ || nand_is_small(), "a command that this chip has not");
        nand.command = command;
        break;
    case NAND_COLUMN:
        nand_demand(!nand_is_small(), "a command that this chip has not");
        nand_demand(nand.has_page, "column change of nothing");
        nand.command = command;
        break;
    case NAND_READ_CONFIRM:
        nand_demand(nand.command == NAND_READ && !nand_is_small(), "a confirmation of nothing");
        nand_demand(nand.count == nand_column_cycles() + NAND_ROW_CYCLES, "an address too short");
        nand_load();
        return;
    case NAND_COLUMN_CONFIRM:
        nand_demand(nand.command == NAND_COLUMN, "a confirmation of nothing");
        nand_demand(nand.count == nand_column_cycles(), "an address too short");
        nand.column = nand_number(0, nand_column_cycles());
        nand_demand(nand.column < nand.kind.page_bytes + nand.kind.spare_bytes,
                    "change to a column beyond the page");
        nand.command = NAND_RESET;
        nand.is_status = 0;
        nand.usable = nand.avr->cycle + nand.kind.t_ccs;
        nand.counts.column_changes++;
        return;
    default:
        stop("a command that this chip has not");
    }
    nand.count = 0;
}

static void nand_address(uint8_t byte)
{
    const unsigned columns = nand_column_cycles();
    const unsigned most =
        nand.command == NAND_COLUMN ? columns : columns + (unsigned)NAND_ROW_CYCLES;
    nand_demand(!nand.is_busy, "address while busy");
    nand_demand(nand.command != NAND_RESET, "an address of nothing");
    nand_demand(nand.count < most, "an address too long");
    nand.addresses[nand.count++] = byte;
    if (nand_is_small() && nand.count == most)
        nand_load();
}

/* Returns the byte that the AVR drives on the bus, or -1. */
static int nand_driven(void)
{
    avr_ioport_state_t port;
    if (avr_ioctl(nand.avr, AVR_IOCTL_IOPORT_GETSTATE(NAND_IO), &port) || port.ddr != 0xff)
        return port.ddr ? -2 : -1;
    return port.port;
}

/* RE# fell: puts the next byte on the bus. */
static void nand_read(void)
{
    nand_demand(nand_driven() == -1, "two drive the bus");
    if (nand.is_status) {
        nand_drive(nand.is_busy ? 0x80 : 0xc0);
        return;
    }
    nand_demand(!nand.is_busy, "use while busy");
    nand_demand(nand.has_page, "fetch of nothing");
    nand_demand(nand.avr->cycle >= nand.usable, "fetch before t_CCS");
    nand_demand(nand.column < nand.kind.page_bytes + nand.kind.spare_bytes, "fetch past the page");
    nand.is_looked_at = 0;
    nand_drive(nand.held[nand.column++]);
}

/* RE# rose: releases the bus. */
static void nand_read_done(void)
{
    if (!nand.is_status) {
        nand.counts.bytes_fetched++;
        nand.counts.bytes_skipped += !nand.is_looked_at;
        nand.counts.spare_bytes_fetched += nand.column > nand.kind.page_bytes;
    }
    nand_drive(NAND_FLOATS);
}

static void nand_write(uint8_t control)
{
    const int byte = nand_driven();
    nand_demand(byte >= 0, "nobody drives the bus");
    if (control & NAND_CLE)
        nand_command((uint8_t)byte);
    else if (control & NAND_ALE)
        nand_address((uint8_t)byte);
    else
        stop("data is written");
}

static void nand_on_control(avr_irq_t *irq, uint32_t value, void *context)
{
    const uint8_t control = (uint8_t)value, rose = (uint8_t)(control & ~nand.control);
    const uint8_t fell = (uint8_t)(nand.control & ~control);
    (void)irq;
    (void)context;
    nand.control = control;
    if (control & NAND_CE || fell & NAND_CE)
        return;
    nand_demand((control & (NAND_CLE | NAND_ALE)) != (NAND_CLE | NAND_ALE), "CLE and ALE");
    nand_demand(control & (NAND_RE | NAND_WE), "RE# and WE#");
    if (fell & (NAND_RE | NAND_WE)) {
        nand_demand(nand.avr->cycle - nand.fell >= nand.kind.t_rc, "faster than the chip");
        nand.fell = nand.avr->cycle;
    }
    if (fell & NAND_RE) {
        nand_demand(!(control & (NAND_CLE | NAND_ALE)), "RE# with CLE or ALE");
        nand_read();
    }
    if (rose & NAND_RE)
        nand_read_done();
    if (rose & NAND_WE)
        nand_write(control);
}

static void nand_on_look(avr_irq_t *irq, uint32_t value, void *context)
{
    (void)irq;
    (void)value;
    (void)context;
    nand.is_looked_at = 1;
}

/* Puts a chip on the pins. */
static void nand_connect(avr_t *avr, const struct nand_kind *kind)
{
    avr_irq_t *control = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(NAND_CONTROL), 0);
    nand.avr = avr;
    nand.kind = *kind;
    if (!nand.kind.io_pins)
        nand.kind.io_pins = NAND_IO_PINS;
    nand.io = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(NAND_IO), 0);
    nand.state = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(NAND_STATE), 0);
    nand.held = calloc(1, kind->page_bytes + kind->spare_bytes);
    if (!control || !nand.io || !nand.state || !nand.held)
        stop("the chip cannot be connected");
    nand.control = NAND_RE | NAND_WE;
    nand.command = NAND_RESET;
    /* The callbacks are called even if a level, or the byte that is read, stays the same. */
    for (unsigned pin = 0; pin < 8; pin++)
        nand.io[IOPORT_IRQ_PIN0 + pin].flags &= (uint8_t)~IRQ_FLAG_FILTERED;
    nand.io[IOPORT_IRQ_REG_PIN].flags &= (uint8_t)~IRQ_FLAG_FILTERED;
    nand_drive(NAND_FLOATS);
    nand_set_busy(0);
    avr_irq_register_notify(control + IOPORT_IRQ_REG_PORT, nand_on_control, NULL);
    avr_irq_register_notify(nand.io + IOPORT_IRQ_REG_PIN, nand_on_look, NULL);
}

#endif
