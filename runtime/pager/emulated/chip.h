/*
 * An emulated flash chip behind the port of the pager, for the file that includes pager.c
 *
 * The chip holds a flash page in its register, or two pages in two buffers, and returns bytes from a
 * column on. It counts its operations, and refuses those that a real chip could not do. The including file
 * defines:
 *
 *   CHIP_ILLEGAL(what)        called for illegal use; must not return
 *   CHIP_BYTE(page, column)   the bytes, which the chip does not keep; columns behind the flash page are
 *                             the spare area
 *   CHIP_PAGES                the number of flash pages
 *
 * and may define:
 *
 *   CHIP_SPARE_BYTES          the size of the spare area, behind which nothing may be fetched
 *   CHIP_FAILS()              1 if a read fails
 *   CHIP_LOADED(buffer, page) called for each load
 *   CHIP_WAITS()              called when a load is waited for
 *   CHIP_FETCH(to, page, column, size)  copies bytes in place of a loop over CHIP_BYTE
 *
 * With a critical block, the rest of a page is copied when it is waited for, and not before. A program
 * that uses the rest too early reads the old bytes of the frame. fp_flash_rest_is_there() returns 1 from
 * its CHIP_REST_ASKED-th call on.
 * The including file may define:
 *
 *   CHIP_REST_BEGINS()        called when the rest of a page begins to come
 *   CHIP_REST_IS_THERE()      1 if the rest has come, in place of CHIP_REST_ASKED
 *   CHIP_REST_WAITS()         called when the rest is waited for
 *   CHIP_MOVE(to, page, column, size)  the DMA: copies bytes in place of a loop over CHIP_BYTE
 */
#ifndef FLASHPAGER_EMULATED_CHIP_H
#define FLASHPAGER_EMULATED_CHIP_H

#include "../flashpager_pager.h"

#define CHIP_NOTHING 0xffffffffu

/* The operations of the chip. */
struct chip_counts {
    uint32_t loads;
    uint32_t prefetches;
    uint32_t column_changes; /* of a register; an address in a buffer does not count */
    uint32_t bytes_fetched;  /* with the bytes skipped and those of tags */
    uint32_t bytes_skipped;
    uint32_t tag_bytes_fetched;
};

static struct {
    struct chip_counts counts;
    uint32_t held[2]; /* by buffer: a page, or CHIP_NOTHING */
    uint32_t column;
    uint8_t busy[2]; /* by buffer: 1 until its load is waited for */
    uint8_t buffer;
#if FP_PAGER_CRITICAL_BYTES
    struct {
        uint8_t *to; /* the frame of the page whose rest is on its way, or NULL */
        uint32_t page, column, at;
        uint8_t buffer, asked;
    } rest;
#endif
} chip;

static void chip_reset(void)
{
    const struct chip_counts none = {0, 0, 0, 0, 0, 0};
    chip.counts = none;
    chip.held[0] = chip.held[1] = CHIP_NOTHING;
    chip.busy[0] = chip.busy[1] = 0;
    chip.buffer = 0;
    chip.column = 0;
#if FP_PAGER_CRITICAL_BYTES
    chip.rest.to = NULL;
#endif
}

static void chip_demand(int holds, const char *message)
{
    if (!holds)
        CHIP_ILLEGAL(message);
}

static void chip_load(uint8_t buffer, uint32_t page)
{
    chip_demand(!chip.busy[0] && !chip.busy[1], "load while busy");
    chip_demand(page < CHIP_PAGES, "load of a page beyond the chip");
#if FP_PAGER_CRITICAL_BYTES
    chip_demand(!chip.rest.to || chip.rest.buffer != buffer, "load over a rest that is fetched");
#endif
    chip.busy[buffer] = 1;
    chip.held[buffer] = page;
#ifdef CHIP_LOADED
    CHIP_LOADED(buffer, page);
#endif
}

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    chip_demand(column < FP_PAGER_FLASH_PAGE_BYTES, "load at a column beyond the page");
#if FP_PAGER_REGISTER == FP_PAGER_SEQUENTIAL || FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
    chip_demand(column == 0, "load at a column");
#endif
    chip.column = (uint32_t)column;
    chip.counts.loads++;
    chip_load(chip.buffer, (uint32_t)page);
}

FP_PAGER_API int fp_flash_wait(void)
{
#ifdef CHIP_WAITS
    CHIP_WAITS();
#endif
    chip.busy[0] = chip.busy[1] = 0;
#ifdef CHIP_FAILS
    if (CHIP_FAILS()) {
        chip.held[0] = chip.held[1] = CHIP_NOTHING;
        return FP_PAGER_IO;
    }
#endif
    return FP_PAGER_OK;
}

/* Checks that the chip holds a page that can be fetched. */
static void chip_ready(void)
{
    chip_demand(!chip.busy[chip.buffer], "use while busy");
    chip_demand(chip.held[chip.buffer] != CHIP_NOTHING, "fetch of nothing");
}

static void chip_reaches(uint32_t size)
{
    chip_ready();
#if FP_PAGER_CRITICAL_BYTES
    chip_demand(!chip.rest.to, "fetch while the bus is busy");
#endif
    chip_demand(chip.column + size <= FP_PAGER_FLASH_PAGE_BYTES, "fetch past the page");
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    chip_reaches((uint32_t)size);
#ifdef CHIP_FETCH
    CHIP_FETCH(to, chip.held[chip.buffer], chip.column, size);
#else
    for (uint_fast16_t i = 0; i < size; i++)
        to[i] = (uint8_t)CHIP_BYTE(chip.held[chip.buffer], chip.column + (uint32_t)i);
#endif
    chip.column += (uint32_t)size;
    chip.counts.bytes_fetched += (uint32_t)size;
#ifdef CHIP_FAILS
    if (CHIP_FAILS())
        return FP_PAGER_IO;
#endif
    return FP_PAGER_OK;
}

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
FP_PAGER_API void fp_flash_skip(uint_fast16_t size)
{
    chip_reaches((uint32_t)size);
    chip_demand(size > 0, "skip of nothing");
    chip.column += (uint32_t)size;
    chip.counts.bytes_fetched += (uint32_t)size;
    chip.counts.bytes_skipped += (uint32_t)size;
}
#else
FP_PAGER_API void fp_flash_column(uint_fast16_t column)
{
    chip_ready();
    chip_demand(column < FP_PAGER_FLASH_PAGE_BYTES, "change to a column beyond the page");
#if FP_PAGER_REGISTER == FP_PAGER_RANDOM_COLUMN
    chip_demand(column != chip.column, "change to the same column");
    chip.counts.column_changes++;
#endif
    chip.column = (uint32_t)column;
}
#endif

#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
FP_PAGER_API void fp_flash_buffer(uint_fast8_t buffer)
{
    chip_demand(buffer < 2, "a buffer other than 0 and 1");
    chip.buffer = (uint8_t)buffer;
}
#endif

#if FP_PAGER_REGISTER == FP_PAGER_DOUBLE_BUFFER_PREFETCH
FP_PAGER_API void fp_flash_load_ahead(fp_flash_page page)
{
    chip_load(chip.buffer ^ 1u, (uint32_t)page);
    chip.counts.prefetches++;
}
#endif

#if FP_PAGER_CRITICAL_BYTES
#ifndef CHIP_REST_ASKED
#define CHIP_REST_ASKED 3
#endif
#ifndef CHIP_REST_IS_THERE
#define CHIP_REST_IS_THERE() (++chip.rest.asked >= CHIP_REST_ASKED)
#endif

FP_PAGER_API void fp_flash_fetch_rest(uint8_t *to, uint_fast16_t column, uint_fast16_t at)
{
    chip_ready();
    chip_demand(!chip.rest.to, "a rest while another one is fetched");
    chip_demand(column + FP_PAGER_PAGE_BYTES <= FP_PAGER_FLASH_PAGE_BYTES, "a rest past the page");
    chip_demand(at % FP_PAGER_CRITICAL_BYTES == 0 && at < FP_PAGER_PAGE_BYTES,
                "a critical block beyond the page");
    chip.rest.to = to;
    chip.rest.page = chip.held[chip.buffer];
    chip.rest.column = (uint32_t)column;
    chip.rest.at = (uint32_t)at;
    chip.rest.buffer = chip.buffer;
    chip.rest.asked = 0;
    chip.counts.bytes_fetched += FP_PAGER_PAGE_BYTES - FP_PAGER_CRITICAL_BYTES;
#ifdef CHIP_REST_BEGINS
    CHIP_REST_BEGINS();
#endif
}

FP_PAGER_API int fp_flash_rest_is_there(void)
{
    return !chip.rest.to || CHIP_REST_IS_THERE();
}

/* The DMA: copies a piece of the rest. */
static void chip_move(uint32_t from, uint32_t end)
{
    const uint32_t column = chip.rest.column + from;
    if (from == end)
        return;
#ifdef CHIP_MOVE
    CHIP_MOVE(chip.rest.to + from, chip.rest.page, column, end - from);
#else
    for (uint32_t i = 0; i < end - from; i++)
        chip.rest.to[from + i] = (uint8_t)CHIP_BYTE(chip.rest.page, column + i);
#endif
}

FP_PAGER_API int fp_flash_rest_wait(void)
{
    if (!chip.rest.to)
        return FP_PAGER_OK;
#ifdef CHIP_REST_WAITS
    CHIP_REST_WAITS();
#endif
    chip_move(0, chip.rest.at);
    chip_move(chip.rest.at + FP_PAGER_CRITICAL_BYTES, FP_PAGER_PAGE_BYTES);
    chip.rest.to = NULL;
#ifdef CHIP_FAILS
    if (CHIP_FAILS())
        return FP_PAGER_IO;
#endif
    return FP_PAGER_OK;
}
#endif

#if FP_PAGER_TAG_BYTES
FP_PAGER_API int fp_flash_spare(uint_fast16_t at, uint8_t *to, uint_fast8_t size)
{
    const uint32_t column = (uint32_t)FP_PAGER_FLASH_PAGE_BYTES + (uint32_t)at;
    chip_ready();
#ifdef CHIP_SPARE_BYTES
    chip_demand(at + size <= CHIP_SPARE_BYTES, "fetch past the spare area");
#endif
    for (uint_fast8_t i = 0; i < size; i++)
        to[i] = (uint8_t)CHIP_BYTE(chip.held[chip.buffer], column + i);
    chip.column = column + size;
    chip.counts.bytes_fetched += size;
    chip.counts.tag_bytes_fetched += size;
#if FP_PAGER_REGISTER == FP_PAGER_RANDOM_COLUMN
    chip.counts.column_changes++;
#endif
#ifdef CHIP_FAILS
    if (CHIP_FAILS())
        return FP_PAGER_IO;
#endif
    return FP_PAGER_OK;
}
#endif

#endif
