/*
 * Tests of the pager with an MMU and a critical block, with the design of the including file
 *
 * The emulated page table has an entry for each block. The emulated chip fails at random, and delivers
 * the rest of a page when the pager waits for it or has polled it often enough. The tests check that a
 * mapped block has the right bytes at any time, that no two pages share a frame, and that the pager's
 * lists are consistent, even if the transfer of a rest fails.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_CHECKS 1
#define FP_PAGER_LOOKUP FP_PAGER_MMU
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_CRITICAL_BYTES 16
#define FP_PAGER_IMAGE_BYTES 1000
#include "../pager/pager.c"

#define PAGES FP_PAGER_PAGES
#define BLOCKS (FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES)

static struct {
    uint64_t random;
    unsigned per_256; /* failing calls of 256 */
} failures;

static bool fails(void)
{
    return random_below(&failures.random, 256) < failures.per_256;
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use: %s", message);
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) image_byte((page)*FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_FAILS() fails()
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < PAGES && error < 0);
    return error;
}

static struct {
    uint8_t frame[PAGES]; /* the frame of each page + 1; 0 if it is not mapped */
    bool valid[PAGES][BLOCKS];
} table;
static uint8_t memory[FP_PAGER_FRAMES * FP_PAGER_PAGE_BYTES];

FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame)
{
    EXPECT(frame < FP_PAGER_FRAMES);
    return memory + frame * FP_PAGER_PAGE_BYTES;
}

FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page)
{
    EXPECT(page < PAGES);
    return table.frame[page];
}

static void map(fp_page page, uint_fast16_t frame, int only)
{
    EXPECT(page < PAGES);
    EXPECT(!table.frame[page] || table.frame[page] == frame + 1);
    table.frame[page] = (uint8_t)(frame + 1);
    for (int block = 0; block < (int)BLOCKS; block++)
        table.valid[page][block] = only < 0 || block == only;
}

FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    map(page, frame, -1);
}

FP_PAGER_API void fp_mmu_map_block(fp_page page, uint_fast16_t frame, uint_fast8_t block)
{
    EXPECT(block < BLOCKS);
    map(page, frame, block);
}

FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    EXPECT_EQ(table.frame[page], frame + 1);
    memset(table.valid[page], 0, sizeof(table.valid[page]));
}

FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    EXPECT(page < PAGES && table.frame[page]);
    table.frame[page] = 0;
    memset(table.valid[page], 0, sizeof(table.valid[page]));
}

/* Checks the bytes of all mapped blocks. A page may be mapped in part only while the transfer of its rest
 * is under way. */
static void check(void)
{
    EXPECT(is_consistent());
    for (unsigned page = 0; page < PAGES; page++) {
        unsigned shown = 0;
        for (unsigned block = 0; block < BLOCKS; block++) {
            if (!table.valid[page][block])
                continue;
            shown++;
            for (unsigned i = 0; i < FP_PAGER_CRITICAL_BYTES; i++) {
                const unsigned within = block * FP_PAGER_CRITICAL_BYTES + i;
                EXPECT_EQ(memory[(table.frame[page] - 1u) * FP_PAGER_PAGE_BYTES + within],
                          image_byte(page * FP_PAGER_PAGE_BYTES + within));
            }
        }
        if (shown && shown < BLOCKS)
            EXPECT(shown == 1 && page == pager.rest_page && chip.rest.to);
    }
}

/* Calls the pager for a fault at an offset, even if its block is mapped. */
static void fault_at(uint32_t offset)
{
    const int error = fp_pager_fault_at(offset);
    EXPECT(error || table.frame[offset / FP_PAGER_PAGE_BYTES]);
    check();
}

/* Accesses an offset, and repeats the access until it does not fault, as a processor does. Returns 0 or
 * the error of the pager. */
static int access_to(uint32_t offset)
{
    const fp_page page = (fp_page)(offset / FP_PAGER_PAGE_BYTES);
    const unsigned block = offset % FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES;
    for (unsigned faults = 0; !table.valid[page][block]; faults++) {
        const int error = fp_pager_fault_at(offset);
        check();
        if (error)
            return error;
        /* At most three faults: a false one, one for the rest, and one for the page whose rest failed. */
        EXPECT(faults < 3);
    }
    return 0;
}

/* Peeks at a page as the handler of data aborts does. Any bytes that the pager returns must be right. */
static void peek(fp_page page)
{
    const struct fp_pager_stat before = stat;
    const uint8_t *bytes = fp_pager_peek(page);
    for (unsigned i = 0; bytes && i < FP_PAGER_PAGE_BYTES; i++)
        EXPECT_EQ(bytes[i], image_byte(page * FP_PAGER_PAGE_BYTES + i));
    EXPECT_EQ(stat.misses, before.misses);
    check();
}

static void start(uint32_t seed)
{
    failures.random = ~(uint64_t)seed;
    failures.per_256 = 0;
    memset(&table, 0, sizeof(table));
    chip_reset();
    EXPECT_EQ(fp_pager_start(), 0);
}

static void fuzz(void)
{
    const uint32_t rounds = test_rounds(3000);
    uint64_t rests = 0, peeks = 0;
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        uint64_t random = seed;
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        start(seed);
        for (unsigned step = 0; step < 200; step++) {
            if (random_below(&random, 20) == 0)
                failures.per_256 = random_below(&random, 4) ? random_below(&random, 100) : 0;
            if (random_below(&random, 4) == 0)
                peek(random_below(&random, PAGES));
            else if (random_below(&random, 8) == 0)
                fault_at(random_below(&random, 1000));
            else
                access_to(random_below(&random, random_below(&random, 2) ? 400 : 1000));
        }
        rests += stat.rest_faults;
        /* After the failures all bytes can be read. */
        failures.per_256 = 0;
        for (uint32_t offset = 0; offset < FP_PAGER_IMAGE_BYTES; offset++)
            EXPECT_EQ(access_to(offset), 0);
        /* A peek maps the rest of a page, without a fault, once its transfer is complete. */
        for (unsigned asked = 0; asked < CHIP_REST_ASKED; asked++)
            peeks += fp_pager_peek(PAGES - 1) != NULL;
        EXPECT(fp_pager_peek(PAGES - 1) || !table.frame[PAGES - 1]);
    }
    EXPECT(rests > rounds && peeks > 0);
}

/* Faults, a failing transfer of a rest, and a second start, step by step. If all calls of the chip fail,
 * the program gets an error. */
static void ends(void)
{
    start(1);
    EXPECT_EQ(access_to(0), 0);
    EXPECT(table.valid[0][0] && !table.valid[0][1]);
    /* A fault of a mapped block loads nothing more. */
    fault_at(0);
    EXPECT(table.valid[0][0] && !table.valid[0][1]);
    /* A peek does not wait for the rest. */
    for (unsigned asked = 1; asked < CHIP_REST_ASKED; asked++)
        EXPECT(!fp_pager_peek(0) && chip.rest.to);
    failures.per_256 = 256;
    EXPECT_EQ(fp_pager_fault_at(FP_PAGER_CRITICAL_BYTES), FP_PAGER_IO);
    EXPECT(!table.frame[0]);
    check();
    failures.per_256 = 0;
    EXPECT_EQ(fp_pager_fault_at(FP_PAGER_CRITICAL_BYTES), 0);
    EXPECT(table.valid[0][0] && table.valid[0][BLOCKS - 1] && !chip.rest.to);
    EXPECT_EQ(fp_pager_fault_at(FP_PAGER_IMAGE_BYTES + FP_PAGER_PAGE_BYTES), FP_PAGER_OUTSIDE);
    EXPECT_EQ(access_to(FP_PAGER_PAGE_BYTES), 0);
    EXPECT(chip.rest.to != NULL);
    /* A second start waits for the rest that is on its way. */
    memset(&table, 0, sizeof(table));
    EXPECT_EQ(fp_pager_start(), 0);
    EXPECT(!chip.rest.to);
    check();
}

/* The pager's checks of its own state find damage to the fields of the rest. */
static void damaged(void)
{
    start(1);
    EXPECT_EQ(access_to(0), 0);
    pager.rest_frame = FP_PAGER_FRAMES;
    EXPECT_EQ(fp_pager_fault_at(FP_PAGER_PAGE_BYTES), FP_PAGER_DAMAGED);
    pager.rest_frame = 0;
    pager.rest_block = BLOCKS;
    EXPECT_EQ(fp_pager_fault_at(FP_PAGER_PAGE_BYTES), FP_PAGER_DAMAGED);
    pager.rest_block = 0;
    EXPECT_EQ(access_to(FP_PAGER_PAGE_BYTES), 0);
}
