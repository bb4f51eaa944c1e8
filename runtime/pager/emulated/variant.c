/*
 * A variant: the pager with one policy, lookup and register, in front of an emulated chip
 *
 * A device has its sizes as constants; here they are variables, for tests that want many sizes. The file
 * that includes this one defines the policy, the lookup, the register and the schedule, and
 *
 *   VARIANT            the name of the struct with its functions; all else is static
 *   VARIANT_IS_SMALL   if it has the narrow types of a small image
 *   VARIANT_TAG_BYTES  the size of tags, if it has some
 *
 * Behind an MMU, whose page table is emulated, the references are counted here, as the pager sees no
 * hits.
 */
#include "variant.h"

#include <stdio.h>
#include <stdlib.h>

static struct variant_sizes sizes;

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
#ifdef VARIANT_TAG_BYTES
#define FP_PAGER_TAG_BYTES VARIANT_TAG_BYTES
#define FP_PAGER_TAG_AT 2
#define FP_PAGER_IMAGE_VERSION 7
#endif
#define FP_PAGER_SIZES_VARY
#ifdef VARIANT_IS_SMALL
#define FP_PAGER_MOST_FRAMES VARIANT_SMALL_FRAMES
#define FP_PAGER_MOST_PAGES VARIANT_SMALL_PAGES
#define FP_PAGER_MOST_PAGE_BYTES VARIANT_SMALL_PAGE_BYTES
#else
#define FP_PAGER_MOST_FRAMES VARIANT_FRAMES
#define FP_PAGER_MOST_PAGES VARIANT_PAGES
#define FP_PAGER_MOST_PAGE_BYTES VARIANT_PAGE_BYTES
#endif
#define FP_PAGER_MOST_CODEWORD_BYTES VARIANT_CODEWORD_BYTES

#include "../pager.c"

_Noreturn static void illegal(const char *message)
{
    fprintf(stderr, "illegal use of the chip: %s\n", message);
    abort();
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((sizes.image_bytes - 1) / sizes.flash_page_bytes + 1)
#if FP_PAGER_TAG_BYTES
/* A MAC for tests: each of its bytes depends on all bytes that it covers, and on their order. */
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

/* A byte of the spare area, which holds the tags of the units: see "Authentication" in
 * flashpager_pager.h. */
static uint8_t spare_byte(uint32_t page, uint32_t at)
{
    static uint8_t tag[FP_PAGER_TAG_BYTES], unit[VARIANT_PAGE_BYTES];
    const uint32_t bytes =
        sizes.codeword_bytes > sizes.page_bytes ? sizes.codeword_bytes : sizes.page_bytes;
    const uint32_t in_page = (at - FP_PAGER_TAG_AT) / FP_PAGER_TAG_BYTES;
    const uint32_t number = page * (sizes.flash_page_bytes / bytes) + in_page;
    if ((at - FP_PAGER_TAG_AT) % FP_PAGER_TAG_BYTES == 0) {
        uint8_t head[8] = {FP_PAGER_IMAGE_VERSION, 0, 0, 0, 0, 0, 0, 0};
        for (unsigned i = 0; i < 4; i++)
            head[4 + i] = (uint8_t)(number >> 8 * i);
        for (uint32_t i = 0; i < bytes; i++)
            unit[i] = variant_byte(number * bytes + i);
        fp_flash_mac(head, unit, bytes, tag);
    }
    return tag[(at - FP_PAGER_TAG_AT) % FP_PAGER_TAG_BYTES];
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    return column < sizes.flash_page_bytes ? variant_byte(page * sizes.flash_page_bytes + column)
                                           : spare_byte(page, column - sizes.flash_page_bytes);
}

#define CHIP_BYTE(page, column) chip_byte(page, column)
#else
#define CHIP_BYTE(page, column) variant_byte((page)*sizes.flash_page_bytes + (column))
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
/* The page table. */
static struct {
    uint16_t frame; /* the frame + 1; 0 for none */
    uint8_t valid;  /* 1 if accesses do not fault */
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

static int start(const struct variant_sizes *design)
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

static int take(const struct variant_run *runs, size_t count, int whole)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t at = runs[i].offset;
        const uint32_t end = at + runs[i].length;
        JUMP(at);
        while (at < end) {
            int byte = TAKE(at);
            if (byte != variant_byte(at))
                return byte < 0 ? byte : VARIANT_WRONG_BYTE;
            at++;
            if (!whole && at < end) {
                at = (at - 1) / sizes.page_bytes * sizes.page_bytes + sizes.page_bytes;
                JUMP(at);
            }
        }
    }
    return 0;
}

static void get_counts(struct variant_counts *counts)
{
    const struct fp_pager_stat *counted = fp_pager_stat();
    counts->stat = (struct variant_stat){
        .references = REFERENCES,
        .misses = counted->misses,
        .reference_bits_set = counted->reference_bits_set,
        .loads = counted->loads,
        .prefetches = counted->prefetches,
        .other_page = counted->other_page,
        .other_buffer = counted->other_buffer,
        .forward = counted->forward,
        .backward = counted->backward,
        .column_changes = counted->column_changes,
        .bytes_fetched = counted->bytes_fetched,
        .bytes_skipped = counted->bytes_skipped,
        .walk = counted->walk,
        .max_walk = counted->max_walk,
        .false_faults = counted->false_faults,
        .downgrades = counted->downgrades,
        .tag_bytes_fetched = counted->tag_bytes_fetched,
        .mac_bytes = counted->mac_bytes,
    };
    counts->chip = (struct variant_chip){
        .loads = chip.counts.loads,
        .prefetches = chip.counts.prefetches,
        .column_changes = chip.counts.column_changes,
        .bytes_fetched = chip.counts.bytes_fetched,
        .bytes_skipped = chip.counts.bytes_skipped,
        .tag_bytes_fetched = chip.counts.tag_bytes_fetched,
    };
}

const struct variant VARIANT = {start, take, READ, get_counts};
