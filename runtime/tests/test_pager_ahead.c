/* The pager with prefetch: it passes by bad blocks, loads each page once, and starts again. */
#include "test.h"

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 600
#define FP_PAGER_BLOCK_PAGES 2
#define FP_PAGER_BAD_BLOCKS 3
#include "../pager/pager.c"

#define FLASH_PAGES ((FP_PAGER_IMAGE_BYTES + FP_PAGER_FLASH_PAGE_BYTES - 1) / FP_PAGER_FLASH_PAGE_BYTES)
#define IMAGE_BLOCKS (FLASH_PAGES / FP_PAGER_BLOCK_PAGES)
#define BLOCKS (IMAGE_BLOCKS + FP_PAGER_BAD_BLOCKS)

static uint32_t bad_set;

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Returns the image's page in a page of the chip: by definition the good blocks are counted. */
static uint32_t page_in(uint32_t place)
{
    uint32_t block = place / FP_PAGER_BLOCK_PAGES, good = 0;
    EXPECT(!(bad_set >> block & 1));
    for (uint32_t before = 0; before < block; before++)
        good += !(bad_set >> before & 1);
    return good * FP_PAGER_BLOCK_PAGES + place % FP_PAGER_BLOCK_PAGES;
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES (BLOCKS * FP_PAGER_BLOCK_PAGES)
#define CHIP_BYTE(page, column) image_byte(page_in(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_LOADED(buffer, page) EXPECT(buffer < 2 && page_in(page) < FLASH_PAGES)
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    chip_demand(!chip.busy[0] && !chip.busy[1], "question while busy");
    return block < BLOCKS ? (int)(bad_set >> block & 1) : FP_PAGER_IO;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

/* Takes the first bytes of the image, one after another. */
static void walk(uint32_t bytes)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    for (uint32_t offset = 0; offset < bytes; offset++)
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(offset));
    fp_cursor_close(&cursor);
}

/* With each set of bad blocks, a program that takes all bytes in order loads the first page, and each other
 * page ahead, once. */
static void passes_bad_blocks_ahead(void)
{
    for (bad_set = 0; bad_set < 1u << BLOCKS; bad_set++) {
        uint32_t bad_ones = 0;
        for (uint32_t block = 0; block < BLOCKS; block++)
            bad_ones += bad_set >> block & 1;
        if (bad_ones > FP_PAGER_BAD_BLOCKS)
            continue;
        test_at("set %u", bad_set);
        chip_reset();
        EXPECT_EQ(fp_pager_start(), 0);
        walk(FP_PAGER_IMAGE_BYTES);
        EXPECT_EQ(fp_pager_stat()->loads, 1);
        EXPECT_EQ(fp_pager_stat()->prefetches, FLASH_PAGES - 1);
        EXPECT_EQ(chip.counts.loads, 1);
        EXPECT_EQ(chip.counts.prefetches, FLASH_PAGES - 1);
    }
}

/* A second start works with either buffer, and while a load goes on. */
static void starts_anew(void)
{
    bad_set = 0;
    chip_reset();
    for (uint32_t bytes = 1; bytes <= FP_PAGER_IMAGE_BYTES; bytes++) {
        test_at("%u bytes", bytes);
        EXPECT_EQ(fp_pager_start(), 0);
        walk(bytes);
        EXPECT_EQ(fp_pager_stat()->loads, 1);
    }
}

static const struct test tests[] = {
    {"pager_passes_bad_blocks_ahead", passes_bad_blocks_ahead},
    {"pager_starts_anew", starts_anew},
    {NULL, NULL},
};

TEST_LIST(tests)
