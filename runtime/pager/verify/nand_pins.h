/*
 * A parallel NAND chip on the pins of an ATmega1284P: the wiring
 *
 * The port of the pager, nand_pins.c, drives these pins; the chip behind them is nand_chip.h in
 * simavr, or a real one. With 16 MHz no access is faster than the slowest chip takes, 50 ns each.
 *
 *     PA0-7   I/O 0-7
 *     PC0     RE#      PC1  WE#      PC2  CLE      PC3  ALE      PC4  CE#
 *     PD2     R/B#     with the chip's pull-up
 */
#ifndef FLASHPAGER_NAND_PINS_H
#define FLASHPAGER_NAND_PINS_H

#define NAND_IO 'A'
#define NAND_CONTROL 'C'
#define NAND_STATE 'D'

/* Bits of PORTC. */
#define NAND_RE 0x01
#define NAND_WE 0x02
#define NAND_CLE 0x04
#define NAND_ALE 0x08
#define NAND_CE 0x10
/* A bit of PIND: 2. */
#define NAND_READY_PIN 2

/* Commands. A chip with pages of 512 bytes has no confirmation, no column change, and a second
 * command for the upper half of a page. */
#define NAND_READ 0x00
#define NAND_READ_UPPER 0x01
#define NAND_READ_CONFIRM 0x30
#define NAND_COLUMN 0x05
#define NAND_COLUMN_CONFIRM 0xe0
#define NAND_STATUS 0x70
#define NAND_RESET 0xff
#define NAND_ROW_CYCLES 3
#define NAND_SMALL_PAGE_BYTES 512

/* Sets the pins up and resets the chip. Call it before fp_pager_start(). It is the only function of
 * nand_pins.c beside the pager's port. */
extern void nand_start(void);

#endif
