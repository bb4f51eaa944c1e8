/*
 * A pager of a policy, a lookup and a register, whose sizes are variables, before an emulated chip
 *
 * For tests that want many sizes: SHAPE is the name of the only thing that can be seen outside. The
 * code is that of pager.c; a device has constants where this has variables. SHAPE_IS_SMALL gives it
 * the narrow types of a small image, SHAPE_TAG_BYTES tags. Behind an MMU, whose entries are emulated, it counts the
 * references itself: the pager does not see hits.
 */
#include "shape.h"

#include <stdio.h>
#include <stdlib.h>

static struct shape_sizes sizes;

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_FRAMES ((uint_fast16_t)sizes.frames)
#define FP_PAGER_PAGE_BYTES (sizes.page_bytes)
#define FP_PAGER_FLASH_PAGE_BYTES (sizes.flash_page_bytes)
#define FP_PAGER_IMAGE_BYTES (sizes.image_bytes)
#define FP_PAGER_CODEWORD_BYTES (sizes.codeword_bytes)
#define FP_PAGER_WALK_BUDGET (sizes.parameter)
#define FP_PAGER_SEED (sizes.parameter)
#define FP_PAGER_VALID ((uint_fast16_t)sizes.parameter)
#ifdef SHAPE_TAG_BYTES
#define FP_PAGER_TAG_BYTES SHAPE_TAG_BYTES
#define FP_PAGER_TAG_AT 2
#define FP_PAGER_IMAGE_VERSION 7
#endif
#define FP_PAGER_SIZES_VARY
#ifdef SHAPE_IS_SMALL
#define FP_PAGER_MOST_FRAMES SHAPE_SMALL_FRAMES
#define FP_PAGER_MOST_PAGES SHAPE_SMALL_PAGES
#define FP_PAGER_MOST_PAGE_BYTES SHAPE_SMALL_PAGE_BYTES
#else
#define FP_PAGER_MOST_FRAMES SHAPE_FRAMES
#define FP_PAGER_MOST_PAGES SHAPE_PAGES
#define FP_PAGER_MOST_PAGE_BYTES SHAPE_PAGE_BYTES
#endif
#define FP_PAGER_MOST_CODEWORD_BYTES SHAPE_CODEWORD_BYTES

#include "../pager.c"

_Noreturn static void illegal(const char *what)
{
    fprintf(stderr, "illegal use of the chip: %s\n", what);
    abort();
}

#define CHIP_ILLEGAL(what) illegal(what)
#define CHIP_PAGES ((sizes.image_bytes - 1) / sizes.flash_page_bytes + 1)
#if FP_PAGER_TAG_BYTES
/* A MAC for tests: each byte of it depends on all that it is taken of, and on their order. */
FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (uint_fast16_t i = 0; i < size + 8u; i++)
        sum = (sum ^ (i < 8 ? head[i] : data[i - 8])) * UINT64_C(1099511628211);
    for (unsigned i = 0; i < FP_PAGER_TAG_BYTES; i++, sum = (sum ^ sum >> 29) * UINT64_C(1099511628211))
        tag[i] = (uint8_t)(sum >> 32);
}

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return FP_PAGER_IMAGE_VERSION;
}

/* A byte of the spare area, as the header of the pager defines it: tags of version, number and data
 * of each unit, which is a codeword, or a cache page where that is as large or larger. */
static uint8_t spare_byte(uint32_t page, uint32_t at)
{
    static uint8_t tag[FP_PAGER_TAG_BYTES], unit[SHAPE_PAGE_BYTES];
    const uint32_t bytes =
        sizes.codeword_bytes > sizes.page_bytes ? sizes.codeword_bytes : sizes.page_bytes;
    const uint32_t in_page = (at - FP_PAGER_TAG_AT) / FP_PAGER_TAG_BYTES;
    const uint32_t number = page * (sizes.flash_page_bytes / bytes) + in_page;
    if ((at - FP_PAGER_TAG_AT) % FP_PAGER_TAG_BYTES == 0) {
        uint8_t head[8] = {FP_PAGER_IMAGE_VERSION, 0, 0, 0, 0, 0, 0, 0};
        for (unsigned i = 0; i < 4; i++)
            head[4 + i] = (uint8_t)(number >> 8 * i);
        for (uint32_t i = 0; i < bytes; i++)
            unit[i] = shape_byte(number * bytes + i);
        fp_flash_mac(head, unit, bytes, tag);
    }
    return tag[(at - FP_PAGER_TAG_AT) % FP_PAGER_TAG_BYTES];
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    return column < sizes.flash_page_bytes ? shape_byte(page * sizes.flash_page_bytes + column)
                                           : spare_byte(page, column - sizes.flash_page_bytes);
}

#define CHIP_BYTE(page, column) chip_byte(page, column)
#else
#define CHIP_BYTE(page, column) shape_byte((page)*sizes.flash_page_bytes + (column))
#endif
#include "chip.h"

static uint32_t corrected;

FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *codeword_at)
{
    (void)page;
    (void)codeword_at;
    corrected++;
    return column % sizes.codeword_bytes ? FP_PAGER_CORRUPT : FP_PAGER_OK;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

#if FP_PAGER_LOOKUP == FP_PAGER_MMU
/* The page table: a frame + 1, and whether it is valid. */
static struct {
    uint16_t frame;
    uint8_t valid;
} entries[FP_PAGER_MOST_PAGES];
static uint8_t memory[FP_PAGER_MOST_FRAMES * 1ul * FP_PAGER_MOST_PAGE_BYTES];
static uint32_t references, current;

FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame)
{
    return memory + frame * (size_t)sizes.page_bytes;
}

FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page)
{
    return entries[page].frame;
}

/* No two pages are in one frame: whoever comes in takes one that was left. */
FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    chip_demand(frame < sizes.frames && !entries[page].valid, "map of what is mapped");
    chip_demand(!entries[page].frame || entries[page].frame == frame + 1, "map elsewhere");
    entries[page].frame = (uint16_t)(frame + 1);
    entries[page].valid = 1;
}

FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    chip_demand(entries[page].valid && entries[page].frame == frame + 1, "invalidate of nothing");
    entries[page].valid = 0;
}

FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    chip_demand(entries[page].frame != 0, "unmap of nothing");
    entries[page].frame = entries[page].valid = 0;
}

static int byte_at(uint32_t at)
{
    const uint32_t page = at / sizes.page_bytes;
    if (page != current)
        references++;
    current = page;
    if (!entries[page].valid) {
        const int error = fp_pager_fault(page);
        if (error)
            return error;
        chip_demand(entries[page].valid, "a fault that maps nothing");
    }
    chip_demand(fp_pager_peek(page) == fp_mmu_bytes(entries[page].frame - 1u), "a peek elsewhere");
    return fp_pager_peek(page)[at % sizes.page_bytes];
}

#define TAKE(at) byte_at(at)
#define JUMP(to) ((void)(to))
#define REFERENCES references
#define READ NULL
#else
static struct fp_cursor cursor;

static int read_bytes(uint32_t from, uint8_t *to, size_t size)
{
    return fp_pager_read(from, to, size);
}

#define TAKE(at) fp_cursor_byte(&cursor)
#define JUMP(to) fp_cursor_jump(&cursor, to)
#define REFERENCES (fp_pager_stat()->references)
#define READ read_bytes
#endif

static int start(const struct shape_sizes *design)
{
    sizes = *design;
    chip_reset();
#if FP_PAGER_LOOKUP == FP_PAGER_MMU
    memset(entries, 0, sizeof(entries));
    references = 0;
    current = UINT32_MAX;
#else
    cursor = (struct fp_cursor){NULL, NULL, 0};
#endif
    return fp_pager_start();
}

/* What a program does that takes a run: a byte of each of its pages, or all bytes. */
static int take(const struct shape_run *runs, size_t count, int whole)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t at = runs[i].offset;
        const uint32_t end = at + runs[i].length;
        JUMP(at);
        while (at < end) {
            int byte = TAKE(at);
            if (byte != shape_byte(at))
                return byte < 0 ? byte : SHAPE_WRONG_BYTE;
            at++;
            if (!whole && at < end) {
                at = (at - 1) / sizes.page_bytes * sizes.page_bytes + sizes.page_bytes;
                JUMP(at);
            }
        }
    }
    return 0;
}

static void tell(struct shape_counts *counts)
{
    const struct fp_pager_stat *of = fp_pager_stat();
    counts->stat = (struct shape_stat){
        REFERENCES,        of->misses,     of->reference_bits_set, of->loads,
        of->prefetches,    of->other_page, of->other_buffer,       of->forward,
        of->backward,      of->column_changes, of->bytes_fetched,  of->bytes_skipped,
        of->walk,          of->max_walk,   of->false_faults,       of->downgrades,
        of->tag_bytes_fetched, of->mac_bytes,
    };
    counts->chip = (struct shape_chip){
        chip.counts.loads,         chip.counts.prefetches,    chip.counts.column_changes,
        chip.counts.bytes_fetched, chip.counts.bytes_skipped, chip.counts.tag_bytes_fetched,
    };
}

const struct shape SHAPE = {start, take, READ, tell};
