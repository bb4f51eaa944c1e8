/* Homes: the example of docs/model.md, bad blocks, pinned pages, and flash that holds another store. */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_STORE FP_PAGER_STORE_HOMES
#define FP_PAGER_MOST_SKIPPED 1
#define FP_PAGER_FRAMES 2
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 309
#define FP_PAGER_PINNED_PAGES 1
#define FP_PAGER_BLOCK_PAGES 4
#define FP_PAGER_BAD_BLOCKS 2
#define FP_PAGER_RETRIES 1
#include "../pager/pager.c"

#define PAGES 20
#define BLOCKS (PAGES / FP_PAGER_BLOCK_PAGES + FP_PAGER_BAD_BLOCKS)
#define HEADER 3
#define HOME_BYTES 51 /* a header and three slots */

static uint8_t medium[BLOCKS * FP_PAGER_BLOCK_PAGES][FP_PAGER_FLASH_PAGE_BYTES];
static int bad_blocks[BLOCKS];
static unsigned fetches, failing_fetch;

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    EXPECT(!bad_blocks[page / FP_PAGER_BLOCK_PAGES]);
    EXPECT(column < HOME_BYTES);
    return medium[page][column];
}

/* Called three times for a page whose home is loaded: by the wait and the fetches of header and page. A page
 * that the register serves is one fetch. */
static bool fails(void)
{
    return ++fetches == failing_fetch;
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES (BLOCKS * FP_PAGER_BLOCK_PAGES)
#define CHIP_BYTE(page, column) chip_byte(page, column)
#define CHIP_FAILS() fails()
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    EXPECT(block < BLOCKS);
    return bad_blocks[block];
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Writes homes of neighbours in the good blocks. */
static void write_store(void)
{
    unsigned block = 0;
    memset(medium, 0xff, sizeof(medium));
    for (unsigned home = 0; home < PAGES; home++) {
        uint8_t *to;
        if (home % FP_PAGER_BLOCK_PAGES == 0)
            block += home > 0;
        while (bad_blocks[block])
            block++;
        to = medium[block * FP_PAGER_BLOCK_PAGES + home % FP_PAGER_BLOCK_PAGES];
        for (unsigned slot = 0; slot < 3 && home + slot < PAGES; slot++) {
            to[slot] = (uint8_t)(home + slot);
            for (unsigned i = 0; i < FP_PAGER_PAGE_BYTES; i++)
                to[HEADER + slot * FP_PAGER_PAGE_BYTES + i] =
                    image_byte((home + slot) * FP_PAGER_PAGE_BYTES + i);
        }
    }
}

static void start(void)
{
    write_store();
    chip_reset();
    fetches = failing_fetch = 0;
    EXPECT_EQ(fp_pager_start(), 0);
}

/* Takes the first byte of a page, which misses. */
static int miss_at(fp_page page)
{
    struct fp_cursor cursor = {NULL, NULL, (fp_offset)(page * FP_PAGER_PAGE_BYTES)};
    const int byte = fp_cursor_byte(&cursor);
    fp_cursor_close(&cursor);
    return byte;
}

static void expect_page(fp_page page)
{
    EXPECT_EQ(miss_at(page), image_byte((uint32_t)page * FP_PAGER_PAGE_BYTES));
}

/* The table below "Example" of homes in docs/model.md, one page later, as the first one is pinned. */
static void example(void)
{
    static const struct {
        fp_page page;
        unsigned loads, fetched, skipped;
    } rows[] = {{1, 1, 19, 0}, {3, 0, 32, 16}, {2, 1, 19, 0}, {4, 0, 32, 16}, {5, 1, 19, 0}};
    start();
    EXPECT_EQ(stat.loads + stat.header_bytes_fetched + stat.bytes_fetched, 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct fp_pager_stat before = stat;
        expect_page(rows[i].page);
        EXPECT_EQ(stat.misses - before.misses, 1);
        EXPECT_EQ(stat.retries, 0);
        EXPECT_EQ(stat.loads - before.loads, rows[i].loads);
        EXPECT_EQ(stat.other_page - before.other_page, rows[i].loads);
        EXPECT_EQ(stat.forward - before.forward, !rows[i].loads);
        EXPECT_EQ(stat.header_bytes_fetched - before.header_bytes_fetched, HEADER * rows[i].loads);
        EXPECT_EQ(stat.bytes_fetched - before.bytes_fetched, rows[i].fetched);
        EXPECT_EQ(stat.bytes_skipped - before.bytes_skipped, rows[i].skipped);
    }
}

/* A page whose own home has passed it is loaded again, which counts as a load of another page. */
static void same_home(void)
{
    start();
    for (unsigned i = 0; i < 4; i++)
        expect_page(1 + i % 3);
    EXPECT_EQ(stat.loads, 2);
    EXPECT_EQ(stat.other_page, 2);
    EXPECT_EQ(stat.forward, 2);
    EXPECT_EQ(stat.backward, 0);
}

/* All pairs of bad blocks are passed by; the last home of the image is read behind them. */
static void pass_by(void)
{
    for (unsigned first = 0; first < BLOCKS; first++) {
        for (unsigned second = 0; second < BLOCKS; second++) {
            memset(bad_blocks, 0, sizeof(bad_blocks));
            bad_blocks[first] = bad_blocks[second] = 1;
            start();
            for (fp_page page = PAGES; page-- > 0;)
                expect_page(page);
        }
    }
    bad_blocks[0] = bad_blocks[1] = bad_blocks[2] = 1;
    EXPECT_EQ(fp_pager_start(), FP_PAGER_BAD);
}

/* A flash page without its own number in front is no home: its bytes are never used. The victim stays. */
static void other_store(void)
{
    memset(bad_blocks, 0, sizeof(bad_blocks));
    start();
    expect_page(2);
    expect_page(9);
    medium[5][0] = 4;
    EXPECT_EQ(miss_at(5), FP_PAGER_CORRUPT);
    EXPECT_EQ(stat.retries, FP_PAGER_RETRIES);
    EXPECT_EQ(stat.failures, 1);
    EXPECT_EQ(pager.held, NO_FLASH_PAGE);
    EXPECT_EQ(PAGE_OF(pager.entry[0]), 2);
    EXPECT_EQ(PAGE_OF(pager.entry[1]), 9);
    medium[5][0] = 5;
    expect_page(5);
}

/* Any of the three reads of a load may fail once: the page is loaded again, with its header. */
static void failing(void)
{
    memset(bad_blocks, 0, sizeof(bad_blocks));
    for (unsigned read = 1; read <= 3; read++) {
        start();
        expect_page(1);
        /* Page 2 is in the register, and its fetch fails: its own home is loaded. */
        failing_fetch = fetches + 1;
        expect_page(2);
        EXPECT_EQ(stat.retries, 1);
        EXPECT_EQ(stat.loads, 2);
        EXPECT_EQ(chip.counts.loads, 2 + FP_PAGER_PINNED_PAGES);
        EXPECT_EQ(pager.held, 2);
        failing_fetch = fetches + read;
        expect_page(8);
        EXPECT_EQ(stat.retries, 2);
        EXPECT_EQ(stat.loads, 3);
        EXPECT_EQ(chip.counts.loads, 4 + FP_PAGER_PINNED_PAGES);
        EXPECT_EQ(stat.header_bytes_fetched, 3 * HEADER);
        expect_page(9);
        EXPECT_EQ(stat.loads, 3);
    }
}

static const struct test tests[] = {
    {"pager_homes_ends_example", example},
    {"pager_homes_ends_same_home", same_home},
    {"pager_homes_ends_bad_blocks", pass_by},
    {"pager_homes_ends_other_store", other_store},
    {"pager_homes_ends_failing", failing},
    {NULL, NULL},
};

TEST_LIST(tests)
