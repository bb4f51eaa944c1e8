/*
 * The port of the pager to a parallel NAND chip on the pins of an ATmega1284P
 *
 * Compile it beside pager.c, with the same design. Pins and wiring: nand_pins.h. Each strobe is an
 * `out`: a byte that is skipped takes 6 cycles, one that is fetched 10.
 */
#include "nand_pins.h"

#include "../flashpager_pager.h"

#include <avr/io.h>

#if FP_PAGER_REGISTER > FP_PAGER_RANDOM_COLUMN
#error "a NAND chip has one register"
#endif

#define IDLE (NAND_RE | NAND_WE)

/* A byte is latched where WE# rises. */
static inline void write_byte(uint8_t latch, uint8_t byte)
{
    PORTC = latch | NAND_RE;
    PORTA = byte;
    PORTC = latch | NAND_RE | NAND_WE;
}

static inline void command(uint8_t byte)
{
    write_byte(NAND_CLE, byte);
}

static inline void address(uint8_t byte)
{
    write_byte(NAND_ALE, byte);
}

/* The chip may drive the bus again. */
static inline void release(void)
{
    PORTC = IDLE;
    DDRA = 0;
}

static inline void wait_ready(void)
{
    while (!(PIND & 1 << NAND_READY_PIN))
        ;
}

void nand_start(void)
{
    PORTC = IDLE;
    DDRC = IDLE | NAND_CLE | NAND_ALE | NAND_CE;
    DDRA = 0xff;
    command(NAND_RESET);
    release();
    __asm__ volatile("nop\n\tnop"); /* t_WB */
    wait_ready();
}

void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    DDRA = 0xff;
#if FP_PAGER_FLASH_PAGE_BYTES <= NAND_SMALL_PAGE_BYTES
    command(column >> 8 ? NAND_READ_UPPER : NAND_READ);
    address((uint8_t)column);
#else
    command(NAND_READ);
    address((uint8_t)column);
    address((uint8_t)(column >> 8));
#endif
    address((uint8_t)page);
    address((uint8_t)(page >> 8));
    address((uint8_t)((uint32_t)page >> 16));
#if FP_PAGER_FLASH_PAGE_BYTES > NAND_SMALL_PAGE_BYTES
    command(NAND_READ_CONFIRM);
#endif
    release();
}

/* The caller has spent t_WB, 100 ns, since the load. A raw chip reports no errors: ECC finds them. */
int fp_flash_wait(void)
{
    wait_ready();
    return FP_PAGER_OK;
}

/* Input takes a cycle to pass the synchronizer. */
int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    do {
        PORTC = NAND_WE;
        __asm__ volatile("nop");
        *to++ = PINA;
        PORTC = IDLE;
    } while (--size);
    return FP_PAGER_OK;
}

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
void fp_flash_skip(uint_fast16_t size)
{
    do {
        PORTC = NAND_WE;
        PORTC = IDLE;
    } while (--size);
}
#else
void fp_flash_column(uint_fast16_t column)
{
    DDRA = 0xff;
    command(NAND_COLUMN);
    address((uint8_t)column);
    address((uint8_t)(column >> 8));
    command(NAND_COLUMN_CONFIRM);
    release();
    /* The rest of t_CCS, at most 300 ns, passes while this returns. */
}
#endif

#if FP_PAGER_TAG_BYTES
int fp_flash_spare(uint_fast16_t at, uint8_t *to, uint_fast8_t size)
{
    fp_flash_column((uint_fast16_t)(FP_PAGER_FLASH_PAGE_BYTES + at));
    return fp_flash_fetch(to, size);
}
#endif
