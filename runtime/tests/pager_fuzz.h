/*
 * The pager in front of a chip that fails, with the design of the including file
 *
 * Every read may fail, be cut, or return wrong bytes if tags are checked. PAGER_TESTS is the name of the
 * tests. They check the pager's own state: after a failure it is as before, but for the frame whose page
 * was lost, and that frame is filled next.
 */
#include "test.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#include "../pager/pager.c"

/* Failures of the chip: how many reads of 256 fail, and in which way. */
static struct {
    uint64_t random;
    unsigned often;
    unsigned next; /* number of next reads that fail, whatever `often` is */
    bool leaves; /* fp_flash_failed() leaves by longjmp() */
    bool again;  /* fp_flash_failed() has the page tried again, once */
    int asked;
    fp_page page;
} trouble;
static jmp_buf left;

static bool fails(void)
{
    if (trouble.next > 0) {
        trouble.next--;
        return true;
    }
    return random_below(&trouble.random, 256) < trouble.often;
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

/* Returns a byte of a flash page, or of the tags behind it. */
static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

static uint8_t chip_byte(uint32_t page, uint32_t column);

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES FP_PAGER_FLASH_PAGES
#define CHIP_BYTE(page, column) chip_byte(page, column)
#define CHIP_FAILS() fails()
#include "../pager/emulated/chip.h"

#if FP_PAGER_TAG_BYTES
/* A checksum in place of a MAC. */
FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < 8 + size; i++)
        hash = (hash ^ (i < 8 ? head[i] : data[i - 8])) * UINT64_C(0x100000001b3);
    for (unsigned i = 0; i < FP_PAGER_TAG_BYTES; i++)
        tag[i] = (uint8_t)(random_next(&hash) >> 32);
}

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return 0;
}

#if FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES
#define UNIT_BYTES FP_PAGER_CODEWORD_BYTES
#else
#define UNIT_BYTES FP_PAGER_PAGE_BYTES
#endif

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    uint8_t head[8] = {FP_PAGER_IMAGE_VERSION, 0, 0, 0, 0, 0, 0, 0};
    uint8_t unit[UNIT_BYTES], tag[FP_PAGER_TAG_BYTES];
    uint32_t index;
    if (column < FP_PAGER_FLASH_PAGE_BYTES)
        return (uint8_t)(image_byte(page * FP_PAGER_FLASH_PAGE_BYTES + column) ^ fails());
    column -= FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT;
    index = page * (FP_PAGER_FLASH_PAGE_BYTES / UNIT_BYTES) + column / FP_PAGER_TAG_BYTES;
    for (unsigned i = 0; i < 4; i++)
        head[4 + i] = (uint8_t)(index >> 8 * i);
    for (unsigned i = 0; i < UNIT_BYTES; i++)
        unit[i] = image_byte(index * UNIT_BYTES + i);
    fp_flash_mac(head, unit, UNIT_BYTES, tag);
    return (uint8_t)(tag[column % FP_PAGER_TAG_BYTES] ^ fails());
}
#elif HAS_HOMES
#include "pager_homes.h"

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    return homes_byte(page, column);
}
#else
static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    return image_byte(page * FP_PAGER_FLASH_PAGE_BYTES + column);
}
#endif

#if !HAS_HOMES
/* Checks of the register after a fault and after a failure; the engine's tests have them for the plain store. */
static void expect_served(fp_page page, const struct fp_pager_stat *before)
{
    (void)page;
    (void)before;
}

static void follow_register(void)
{
}
#endif

#if FP_PAGER_CODEWORD_BYTES
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *word)
{
    /* Bytes that had been fetched when a codeword could not be corrected: the pager must not use them. */
    static uint32_t corrupt = UINT32_MAX;
    EXPECT(page < CHIP_PAGES && column % FP_PAGER_CODEWORD_BYTES == 0 && word);
    EXPECT(chip.counts.bytes_fetched != corrupt);
    if (!fails())
        return 0;
    corrupt = chip.counts.bytes_fetched;
    return FP_PAGER_CORRUPT;
}
#endif

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(error < 0);
    trouble.page = page;
    trouble.asked++;
    if (trouble.again) {
        trouble.again = false;
        return 0;
    }
    if (trouble.leaves)
        longjmp(left, error);
    return error;
}

#define PAGES FP_PAGER_PAGES

/* Checks the invariants that hold between any two calls. */
static void check_state(void)
{
    bool cached[PAGES] = {false};
    for (unsigned frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        fp_page page = PAGE_OF(pager.entry[frame]);
        EXPECT(frame < pager.used || page == NO_PAGE);
        if (page == NO_PAGE) {
            EXPECT_EQ(pager.entry[frame], NO_PAGE);
            continue;
        }
        EXPECT(page < PAGES && !cached[page]);
        cached[page] = true;
#if LOOKUP_IS(TABLE)
        EXPECT_EQ(pager.table[page], frame + 1);
#endif
        for (unsigned i = 0; i < FP_PAGER_PAGE_BYTES; i++)
            EXPECT_EQ(frames[frame * FP_PAGER_PAGE_BYTES + i],
                      image_byte((uint32_t)(page * FP_PAGER_PAGE_BYTES + i)));
    }
#if LOOKUP_IS(TABLE)
    for (unsigned page = 0; page < PAGES; page++)
        EXPECT(cached[page] == (pager.table[page] != 0));
#endif
#if KEEPS_ORDER
    bool listed[FP_PAGER_FRAMES] = {false};
    for (unsigned place = 0; place < FP_PAGER_FRAMES; place++) {
        EXPECT(pager.order[place] < FP_PAGER_FRAMES && !listed[pager.order[place]]);
        listed[pager.order[place]] = true;
    }
#endif
    EXPECT_EQ(stat.misses, stat.other_page + stat.other_buffer + stat.forward + stat.backward);
}

/* Returns how many frames have lost their page. */
static unsigned empty_frames(void)
{
    unsigned count = 0;
    for (unsigned frame = 0; frame < pager.used; frame++)
        count += PAGE_OF(pager.entry[frame]) == NO_PAGE;
    return count;
}

/* Checks that a failed reference changed at most one frame, its victim's, which is empty then. */
static void check_failure(const void *before_, size_t size)
{
    __typeof__(pager) before;
    unsigned differ = 0;
    memcpy(&before, before_, size);
    EXPECT_EQ(pager.used, before.used);
#if !POLICY_IS(LRU)
    EXPECT_EQ(pager.hand, before.hand);
#endif
#if POLICY_IS(RANDOM)
    EXPECT_EQ(pager.random, before.random);
#endif
#if KEEPS_ORDER
    EXPECT(!memcmp(pager.order, before.order, sizeof(before.order)));
#endif
    for (unsigned frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        if (pager.entry[frame] != before.entry[frame]) {
            EXPECT_EQ(pager.entry[frame], NO_PAGE);
            differ++;
        }
    }
    EXPECT(differ <= 1);
    EXPECT_EQ(pager.held, NO_FLASH_PAGE);
}

/* Returns a byte, or the error with which fp_flash_failed() has left. */
static int byte_of(struct fp_cursor *cursor)
{
    const int error = setjmp(left);
    return error ? error : fp_cursor_byte(cursor);
}

/* Reads bytes. Returns 0, an error, or the error with which fp_flash_failed() has left. */
static int read_bytes(uint32_t offset, uint8_t *to, size_t size)
{
    const int error = setjmp(left);
    return error ? error : fp_pager_read((fp_offset)offset, to, size);
}

/* Takes bytes through a cursor. Each must be right or refused. */
static void reference(struct fp_cursor *cursor, uint32_t offset, unsigned bytes)
{
    __typeof__(pager) before;
    struct fp_pager_stat counted;
    fp_cursor_jump(cursor, (fp_offset)offset);
    EXPECT_EQ(fp_cursor_tell(cursor), offset);
    while (bytes-- && offset < FP_PAGER_IMAGE_BYTES) {
        int byte;
        const unsigned used = (unsigned)pager.used;
        const unsigned empty_before = empty_frames();
        /* Closing another cursor changes no count. */
        memcpy(&before, &pager, sizeof(pager));
        counted = stat;
        trouble.asked = 0;
        byte = byte_of(cursor);
        if (byte < 0) {
            EXPECT_EQ(trouble.page, offset / FP_PAGER_PAGE_BYTES);
            EXPECT_EQ(fp_pager_error(), byte);
            EXPECT(trouble.asked > 0);
            EXPECT_EQ(fp_cursor_tell(cursor), offset);
            EXPECT(!cursor->at && !cursor->end);
            check_failure(&before, sizeof(before));
            follow_register();
            EXPECT_EQ(stat.references, counted.references);
            EXPECT_EQ(stat.bytes_fetched, counted.bytes_fetched);
            EXPECT_EQ(stat.walk, counted.walk);
            EXPECT(empty_frames() <= 1);
            check_state();
            return;
        }
        EXPECT_EQ(byte, image_byte(offset));
        if (stat.misses != counted.misses) {
            /* The next fault gets the empty frame. */
            EXPECT_EQ(empty_frames(), 0);
            EXPECT(!empty_before || (unsigned)pager.used == used);
            expect_served((fp_page)(offset / FP_PAGER_PAGE_BYTES), &counted);
        } else {
            EXPECT_EQ(empty_frames(), empty_before);
        }
        offset++;
    }
    check_state();
}

static void fuzz(void)
{
    const uint32_t rounds = test_rounds(4000);
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        struct fp_cursor cursors[2] = {{NULL, NULL, 0}, {NULL, NULL, 0}};
        uint64_t random = seed;
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        trouble.random = ~(uint64_t)seed;
        trouble.often = 0;
        trouble.leaves = false;
        chip_reset();
        EXPECT_EQ(fp_pager_start(), 0);
        follow_register();
        for (unsigned step = 0; step < 300; step++) {
            uint32_t offset = random_below(&random, FP_PAGER_IMAGE_BYTES);
            if (random_below(&random, 20) == 0)
                trouble.often = random_below(&random, 4) ? random_below(&random, 90) : 0;
            trouble.leaves = random_below(&random, 3) == 0;
            trouble.again = random_below(&random, 5) == 0;
            if (random_below(&random, 10) == 0)
                fp_cursor_close(&cursors[random_below(&random, 2)]);
            if (random_below(&random, 8) == 0) {
                uint8_t bytes[3 * FP_PAGER_PAGE_BYTES];
                const uint32_t size = random_below(&random, sizeof(bytes));
                const int error = read_bytes(offset, bytes, size);
                EXPECT((error == FP_PAGER_OUTSIDE) == (offset + size > FP_PAGER_IMAGE_BYTES));
                if (error == 0)
                    for (uint32_t i = 0; i < size; i++)
                        EXPECT_EQ(bytes[i], image_byte(offset + i));
                follow_register();
                check_state();
            } else {
                reference(&cursors[random_below(&random, 2)], offset,
                          1 + random_below(&random, 2 * FP_PAGER_PAGE_BYTES));
            }
        }
        /* No failure has left a trace. */
        trouble.often = 0;
        for (uint32_t offset = 0; offset < FP_PAGER_IMAGE_BYTES; offset += FP_PAGER_PAGE_BYTES)
            reference(&cursors[0], offset, FP_PAGER_PAGE_BYTES);
    }
}

/* Bytes behind the image are refused, without a call of fp_flash_failed(). */
static void behind_the_image(struct fp_cursor *cursor)
{
    uint8_t bytes[2];
    trouble.asked = 0;
    for (uint32_t more = 0; more <= FP_PAGER_PAGE_BYTES; more++) {
        EXPECT_EQ(fp_pager_read(FP_PAGER_IMAGE_BYTES + more, bytes, 1), FP_PAGER_OUTSIDE);
        fp_cursor_jump(cursor, FP_PAGER_IMAGE_BYTES + more);
        EXPECT_EQ(fp_cursor_byte(cursor), FP_PAGER_OUTSIDE);
    }
    EXPECT_EQ(fp_pager_read(FP_PAGER_IMAGE_BYTES - 1, bytes, 2), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_pager_read(FP_PAGER_IMAGE_BYTES, bytes, 0), 0);
    EXPECT_EQ(fp_pager_read(1, bytes, SIZE_MAX), FP_PAGER_OUTSIDE);
    EXPECT(fp_pager_page(PAGES) == NULL);
    EXPECT_EQ(fp_pager_error(), FP_PAGER_OUTSIDE);
    EXPECT_EQ(trouble.asked, 0);
}

/* With a chip that fails for good, each page is tried FP_PAGER_RETRIES times more, and again if
 * fp_flash_failed() returns 0. Pages in the cache stay readable. */
static void tries(void)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    trouble.often = 0;
    trouble.leaves = trouble.again = false;
    uint32_t references;
    chip_reset();
    EXPECT_EQ(fp_pager_start(), 0);
    EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(0));
    references = stat.references;
    trouble.often = 256;
    for (unsigned more = 0; more < 2; more++) {
        const struct fp_pager_stat before = stat;
        trouble.asked = 0;
        trouble.again = more;
        fp_cursor_jump(&cursor, FP_PAGER_PAGE_BYTES);
        EXPECT(fp_cursor_byte(&cursor) < 0);
        EXPECT_EQ(trouble.asked, 1 + more);
        EXPECT_EQ(stat.retries - before.retries, (1 + more) * FP_PAGER_RETRIES);
        EXPECT_EQ(stat.failures - before.failures, 1 + more);
    }
    behind_the_image(&cursor);
    /* The failed references part this one from the first one. */
    fp_cursor_jump(&cursor, 1);
    EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(1));
    EXPECT_EQ(stat.references, references + 1);
}

#if REGISTER_IS(DOUBLE_BUFFER_PREFETCH)
/* A load ahead that fails takes no try from the next page, even if that is the same page: it is loaded as if
 * nothing had been begun. A fetch from the page that is held does not wait for it. */
static void fails_ahead(void)
{
    for (uint32_t next = 0; next < 3; next++) {
        struct fp_cursor cursor = {NULL, NULL, 0};
        /* Offsets in the page that is held, in the one loaded ahead, and in another one. */
        const uint32_t offset = next * FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_PAGE_BYTES;
        trouble.often = 0;
        trouble.leaves = trouble.again = false;
        chip_reset();
        EXPECT_EQ(fp_pager_start(), 0);
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(0));
        EXPECT_EQ(stat.prefetches, 1);
        if (!next) {
            fp_cursor_jump(&cursor, (fp_offset)offset);
            EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(offset));
            EXPECT(chip.busy[chip.buffer ^ 1u]);
            EXPECT_EQ(stat.loads, 1);
            continue;
        }
        trouble.next = 1;
        fp_cursor_jump(&cursor, (fp_offset)offset);
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(offset));
        EXPECT_EQ(trouble.next, 0);
        EXPECT_EQ(stat.retries, 0);
        EXPECT_EQ(stat.loads, 2);
        check_state();
        /* The load ahead that failed takes no try from the page: it comes by its last try. */
        chip_reset();
        EXPECT_EQ(fp_pager_start(), 0);
        cursor = (struct fp_cursor){NULL, NULL, 0};
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(0));
        trouble.next = 1 + FP_PAGER_RETRIES;
        fp_cursor_jump(&cursor, (fp_offset)offset);
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(offset));
    }
}
#endif
