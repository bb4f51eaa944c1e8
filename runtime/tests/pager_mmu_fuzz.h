/*
 * The pager behind an MMU in front of a chip that fails, with the design of the including file
 *
 * The page table is emulated: each access is a reference, and faults if its entry is invalid. The tests
 * check that entries agree with the pager's bits, and that no two pages share a frame. They check that a
 * failure changes nothing, except that the page of one frame may be lost; that frame is filled next.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_LOOKUP FP_PAGER_MMU
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 333
#include "../pager/pager.c"

#define PAGES FP_PAGER_PAGES

static struct {
    uint64_t random;
    unsigned often; /* of 256 */
    bool again;
    int asked;
} trouble;

static bool fails(void)
{
    return random_below(&trouble.random, 256) < trouble.often;
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use: %s", message);
}

/* Events while the flash loads. */
static void waits(void)
{
#if FP_PAGER_CHECKS
    for (fp_page page = 0; page < PAGES; page++)
        EXPECT_EQ(fp_pager_fault(page), FP_PAGER_BUSY);
#endif
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) image_byte((page)*FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_FAILS() fails()
#define CHIP_WAITS() waits()
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < PAGES && error < 0);
    trouble.asked++;
#if FP_PAGER_CHECKS
    EXPECT_EQ(fp_pager_fault(PAGES), FP_PAGER_OUTSIDE);
#endif
    if (trouble.again) {
        trouble.again = false;
        return 0;
    }
    return error;
}

struct table {
    uint8_t frame[PAGES]; /* + 1 */
    bool valid[PAGES];
};
static struct table table;
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

FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    EXPECT(page < PAGES && (!table.valid[page] || FP_PAGER_CHECKS));
    EXPECT(!table.frame[page] || table.frame[page] == frame + 1);
    table.frame[page] = (uint8_t)(frame + 1);
    table.valid[page] = true;
}

FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    EXPECT(page < PAGES && (table.valid[page] || FP_PAGER_CHECKS));
    EXPECT_EQ(table.frame[page], frame + 1);
    table.valid[page] = false;
}

FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    EXPECT(page < PAGES && table.frame[page]);
    table.frame[page] = 0;
    table.valid[page] = false;
}

/* Returns how many frames have lost their page. */
static unsigned check_state(void)
{
    bool taken[FP_PAGER_FRAMES] = {false};
    unsigned empty = 0, mapped = 0;
    for (unsigned page = 0; page < PAGES; page++) {
        if (!table.frame[page]) {
            EXPECT(!table.valid[page]);
            continue;
        }
        const unsigned frame = table.frame[page] - 1u;
        EXPECT(frame < pager.used && !taken[frame]);
        taken[frame] = true;
        mapped++;
        EXPECT_EQ(PAGE_OF(pager.entry[frame]), page);
#if INSERTED_BIT
        EXPECT(table.valid[page] == ((pager.entry[frame] & REFERENCED) != 0));
#else
        EXPECT(table.valid[page]);
#endif
        for (unsigned i = 0; i < FP_PAGER_PAGE_BYTES; i++)
            EXPECT_EQ(memory[frame * FP_PAGER_PAGE_BYTES + i],
                      image_byte(page * FP_PAGER_PAGE_BYTES + i));
    }
    for (unsigned frame = 0; frame < pager.used; frame++)
        empty += PAGE_OF(pager.entry[frame]) == NO_PAGE;
    EXPECT_EQ(mapped + empty, pager.used);
#if HAS_SECOND_CHANCE
    /* The ring, from the oldest page on: the invalid pages, then `pager.valid` valid ones. */
    unsigned valid = 0, place = (unsigned)pager.hand;
    for (unsigned i = 0; i < pager.used; i++) {
        EXPECT_EQ(pager.older[pager.newer[place]], place);
        if (i + pager.valid == pager.used)
            EXPECT_EQ(place, pager.valid_from);
        if (pager.entry[place] & REFERENCED) {
            EXPECT(i + pager.valid >= pager.used);
            valid++;
        }
        place = pager.newer[place];
    }
    EXPECT_EQ(place, pager.hand);
    EXPECT(valid <= pager.valid && pager.valid <= valid + empty);
#if POLICY_IS(FIFO_SC)
    EXPECT(pager.valid <= FP_PAGER_VALID);
#endif
#endif
    return empty;
}

/* Checks that a failed fault changed at most one frame, its victim's, which is empty then. */
static void check_failure(const void *before_, size_t size, const struct table *entries)
{
    __typeof__(pager) before;
    unsigned differ = 0;
    memcpy(&before, before_, size);
    EXPECT_EQ(pager.used, before.used);
    EXPECT_EQ(pager.hand, before.hand);
#if POLICY_IS(RANDOM)
    EXPECT_EQ(pager.random, before.random);
#endif
#if HAS_SECOND_CHANCE
    EXPECT_EQ(pager.valid, before.valid);
    EXPECT_EQ(pager.valid_from, before.valid_from);
    EXPECT(!memcmp(pager.newer, before.newer, sizeof(before.newer)));
    EXPECT(!memcmp(pager.older, before.older, sizeof(before.older)));
#endif
    for (unsigned frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        if (pager.entry[frame] != before.entry[frame]) {
            EXPECT_EQ(pager.entry[frame], NO_PAGE);
            differ++;
        }
    }
    EXPECT(differ <= 1);
    for (unsigned page = 0; page < PAGES; page++)
        if (table.frame[page] || !differ)
            EXPECT(table.frame[page] == entries->frame[page] &&
                   table.valid[page] == entries->valid[page]);
}

static void reference(fp_page page)
{
    __typeof__(pager) before;
    const struct table entries = table;
    const struct fp_pager_stat counted = stat;
    const unsigned empty = check_state();
    int error = 0;
    memcpy(&before, &pager, sizeof(pager));
    trouble.asked = 0;
    if (!table.valid[page]) {
        error = fp_pager_fault(page);
        EXPECT(error < 0 || table.valid[page]);
    }
    if (error) {
        EXPECT(trouble.asked > 0);
        check_failure(&before, sizeof(before), &entries);
        EXPECT_EQ(stat.misses, counted.misses);
        EXPECT_EQ(stat.downgrades, counted.downgrades);
        EXPECT_EQ(stat.walk, counted.walk);
        EXPECT(check_state() <= 1);
        return;
    }
    EXPECT_EQ(fp_pager_peek(page), fp_mmu_bytes(fp_mmu_frame(page) - 1u));
    /* The next miss gets the empty frame. */
    EXPECT_EQ(check_state(), stat.misses != counted.misses ? 0 : empty);
}

static void start(uint32_t seed)
{
    trouble.random = ~(uint64_t)seed;
    trouble.often = 0;
    trouble.again = false;
    memset(&table, 0, sizeof(table));
    chip_reset();
    EXPECT_EQ(fp_pager_start(), 0);
}

static void fuzz(void)
{
    const uint32_t rounds = test_rounds(4000);
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        uint64_t random = seed;
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        start(seed);
        for (unsigned step = 0; step < 300; step++) {
            if (random_below(&random, 20) == 0)
                trouble.often = random_below(&random, 4) ? random_below(&random, 200) : 0;
            trouble.again = random_below(&random, 5) == 0;
            reference(random_below(&random, random_below(&random, 2) ? 8 : PAGES));
        }
        /* No failure has left a trace. */
        trouble.often = 0;
        for (fp_page page = 0; page < PAGES; page++)
            reference(page);
    }
}

/* A chip that fails for good, and faults outside of the image. */
static void ends(void)
{
    start(1);
    for (fp_page page = 0; page < FP_PAGER_FRAMES; page++)
        reference(page);
    trouble.often = 256;
    for (unsigned i = 0; i < 5; i++) {
        const uint32_t retries = stat.retries, failures = stat.failures;
        EXPECT_EQ(fp_pager_fault(PAGES - 1), FP_PAGER_IO);
        EXPECT_EQ(stat.retries - retries, FP_PAGER_RETRIES);
        EXPECT_EQ(stat.failures - failures, 1);
        check_state();
    }
    const struct fp_pager_stat before = stat;
    const struct table entries = table;
    EXPECT_EQ(fp_pager_fault(PAGES), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_pager_fault((fp_page)-1), FP_PAGER_OUTSIDE);
    EXPECT(!fp_pager_peek(PAGES) && !fp_pager_peek(PAGES - 1));
    /* Faults of mapped pages change nothing. */
    for (fp_page page = 0; page < PAGES; page++)
        if (table.valid[page])
            EXPECT_EQ(fp_pager_fault(page), 0);
    EXPECT(!memcmp(&before, &stat, sizeof(before)) && !memcmp(&entries, &table, sizeof(entries)));
    trouble.often = 0;
    reference(PAGES - 1);
}

#if FP_PAGER_CHECKS
/* Damages the pager's state. Returns true if the next fault must find it. */
static bool damage(uint64_t *random)
{
    const unsigned frame = random_below(random, FP_PAGER_FRAMES);
    const uint8_t by = (uint8_t)(1 + random_below(random, 255));
    switch (random_below(random, HAS_SECOND_CHANCE ? 8 : 4)) {
    case 0:
        pager.entry[frame] ^= random_below(random, 2) ? REFERENCED : by;
        break;
    case 1:
        pager.hand ^= by;
        break;
    case 2:
        pager.used ^= by;
        break;
    case 3:
        /* Makes a page fault that should not by the pager's bits. */
        for (unsigned page = 0; page < PAGES; page++)
            if (table.frame[page] == frame + 1)
                table.valid[page] = false;
        break;
#if HAS_SECOND_CHANCE
    case 4:
        pager.newer[frame] ^= by;
        return frame < pager.used;
    case 5:
        pager.older[frame] ^= by;
        return frame < pager.used;
    case 6:
        pager.valid ^= by;
        break;
    default:
        pager.valid_from ^= by;
#endif
    }
    return false;
}

/* After any damage the program gets the right bytes, or it is stopped and nothing is changed. */
static void damaged(void)
{
    const uint32_t rounds = test_rounds(20000);
    uint32_t found = 0;
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        uint64_t random = seed;
        unsigned steps;
        int error = 0;
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        start(seed);
        for (steps = random_below(&random, 40); steps > 0; steps--)
            reference(random_below(&random, random_below(&random, 2) ? 8 : PAGES));
        bool at_once = damage(&random);
        for (unsigned step = 0; step < 100 && !error; step++) {
            const fp_page page = random_below(&random, PAGES);
            __typeof__(pager) before;
            const struct table entries = table;
            memcpy(&before, &pager, sizeof(pager));
            if (!table.valid[page]) {
                error = fp_pager_fault(page);
                EXPECT(error || !at_once);
            }
            if (error) {
                EXPECT_EQ(error, FP_PAGER_DAMAGED);
                EXPECT(!memcmp(&before, &pager, sizeof(pager)));
                EXPECT(!memcmp(&entries, &table, sizeof(table)));
                found++;
            } else {
                const uint8_t *bytes = fp_pager_peek(page);
                EXPECT(table.valid[page] && bytes);
                for (unsigned i = 0; i < FP_PAGER_PAGE_BYTES; i++)
                    EXPECT_EQ(bytes[i], image_byte(page * FP_PAGER_PAGE_BYTES + i));
            }
        }
    }
    EXPECT(found > rounds / 4 && found < rounds);
}
#endif
