/*
 * An emulated flash chip behind the port of the pager, for the file that includes pager.c
 *
 * It holds a flash page in its register, or two in two buffers, gives its bytes at a column, counts
 * what is asked of it, and refuses what a real chip could not do: CHIP_ILLEGAL(what) is called, and
 * must not return. It keeps no bytes: CHIP_BYTE(page, column) gives them, CHIP_BYTE of a column
 * behind the flash page the spare area. CHIP_PAGES is how many pages it has. All three are macros
 * of whoever includes this. So may be CHIP_SPARE_BYTES, of the spare area, behind which nothing may
 * be fetched; CHIP_FAILS(), asked whether a read fails; CHIP_LOADED(buffer, page), told of each
 * load; CHIP_WAITS(), called where it is waited for; and CHIP_FETCH(to, page, column, size), which
 * copies bytes in its own time instead of byte by byte.
 */
#ifndef FLASHPAGER_EMULATED_CHIP_H
#define FLASHPAGER_EMULATED_CHIP_H

#include "../flashpager_pager.h"

#define CHIP_NOTHING 0xffffffffu

/* What was asked of the chip. */
struct chip_counts {
    uint32_t loads;
    uint32_t prefetches;
    uint32_t column_changes; /* of a register: an address in a buffer is none */
    uint32_t bytes_fetched;  /* with those skipped, and those of tags */
    uint32_t bytes_skipped;
    uint32_t tag_bytes_fetched;
};

static struct {
    struct chip_counts counts;
    uint32_t held[2]; /* by buffer: a page, or CHIP_NOTHING */
    uint32_t column;
    uint8_t busy[2]; /* by buffer: a load that nobody waited for */
    uint8_t buffer;
} chip;

static void chip_reset(void)
{
    const struct chip_counts none = {0, 0, 0, 0, 0, 0};
    chip.counts = none;
    chip.held[0] = chip.held[1] = CHIP_NOTHING;
    chip.busy[0] = chip.busy[1] = 0;
    chip.buffer = 0;
    chip.column = 0;
}

static void chip_demand(int holds, const char *what)
{
    if (!holds)
        CHIP_ILLEGAL(what);
}

static void chip_load(uint8_t buffer, uint32_t page)
{
    chip_demand(!chip.busy[0] && !chip.busy[1], "load while busy");
    chip_demand(page < CHIP_PAGES, "load of a page that is none");
    chip.busy[buffer] = 1;
    chip.held[buffer] = page;
#ifdef CHIP_LOADED
    CHIP_LOADED(buffer, page);
#endif
}

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    chip_demand(column < FP_PAGER_FLASH_PAGE_BYTES, "load at a column that is none");
#if FP_PAGER_REGISTER == FP_PAGER_SEQUENTIAL || FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
    chip_demand(column == 0, "load at a column");
#endif
    chip.column = (uint32_t)column;
    chip.counts.loads++;
    /* The chip is busy from the last of it on. */
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

/* What comes next must be there. */
static void chip_ready(void)
{
    chip_demand(!chip.busy[chip.buffer], "use while busy");
    chip_demand(chip.held[chip.buffer] != CHIP_NOTHING, "fetch of nothing");
}

static void chip_reaches(uint32_t size)
{
    chip_ready();
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
    chip_demand(column < FP_PAGER_FLASH_PAGE_BYTES, "change to a column that is none");
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
    chip_demand(buffer < 2, "buffer that is none");
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
