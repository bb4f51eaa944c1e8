/* Tests of the pager with an image that has tags, pinned pages, and bad blocks. */
#include "test.h"

#include <string.h>

static uint32_t version = 3;

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 20000
#define FP_PAGER_PINNED_PAGES 3
#define FP_PAGER_BLOCK_PAGES 4
#define FP_PAGER_BAD_BLOCKS 3
#define FP_PAGER_TAG_BYTES 8
#define FP_PAGER_TAG_AT 8
#define FP_PAGER_IMAGE_VERSION version
#include "../pager/mac/aes_cmac.h"
#include "../pager/pager.c"

#define UNITS (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES)
#define IMAGE_BLOCKS 5
#define BLOCKS (IMAGE_BLOCKS + 4)
#define SPARE_BYTES (FP_PAGER_TAG_AT + UNITS * FP_PAGER_TAG_BYTES)

/* The chip's pages, each followed by its spare area. */
static uint8_t medium[BLOCKS * FP_PAGER_BLOCK_PAGES][FP_PAGER_FLASH_PAGE_BYTES + SPARE_BYTES];
static int bad_blocks[BLOCKS];
static uint32_t oldest;
static unsigned failures;

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    EXPECT(!bad_blocks[page / FP_PAGER_BLOCK_PAGES]);
    return medium[page][column];
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES (BLOCKS * FP_PAGER_BLOCK_PAGES)
#define CHIP_BYTE(page, column) chip_byte(page, column)
#include "../pager/emulated/chip.h"

static struct fp_aes_cmac mac;

FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
}

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return oldest;
}

FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    return block < BLOCKS ? bad_blocks[block] : FP_PAGER_IO;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    failures++;
    return error;
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Returns the chip's page that holds a flash page of the image. The image lies in the good blocks, in order. */
static uint32_t chip_page_of(uint32_t page)
{
    uint32_t good = page / FP_PAGER_BLOCK_PAGES, block = 0;
    for (;; block++) {
        if (bad_blocks[block])
            continue;
        if (good-- == 0)
            return block * FP_PAGER_BLOCK_PAGES + page % FP_PAGER_BLOCK_PAGES;
    }
}

/* Writes an image of a version. A tag covers the version (4 bytes), the unit's number (4), and its data. */
static void write_image(uint32_t image_version)
{
    static const uint8_t key[FP_AES_CMAC_KEY_BYTES] = {1, 2, 3};
    /* The last image is kept, since its tags take long to compute. */
    static uint8_t kept_image[IMAGE_BLOCKS * FP_PAGER_BLOCK_PAGES][FP_PAGER_FLASH_PAGE_BYTES + SPARE_BYTES];
    static uint32_t kept_version;
    for (uint32_t page = 0; page < IMAGE_BLOCKS * FP_PAGER_BLOCK_PAGES && kept_version != image_version;
         page++) {
        uint8_t *to = kept_image[page];
        fp_aes_cmac_key(&mac, key);
        for (uint32_t unit = 0; unit < UNITS; unit++) {
            const uint32_t number = page * UNITS + unit;
            uint8_t head[8];
            for (unsigned i = 0; i < 4; i++) {
                head[i] = (uint8_t)(image_version >> 8 * i);
                head[4 + i] = (uint8_t)(number >> 8 * i);
            }
            for (uint32_t i = 0; i < FP_PAGER_PAGE_BYTES; i++)
                to[unit * FP_PAGER_PAGE_BYTES + i] =
                    (uint8_t)(image_byte(number * FP_PAGER_PAGE_BYTES + i) + image_version);
            fp_flash_mac(head, to + unit * FP_PAGER_PAGE_BYTES, FP_PAGER_PAGE_BYTES,
                         to + FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT +
                             unit * FP_PAGER_TAG_BYTES);
        }
    }
    kept_version = image_version;
    for (uint32_t page = 0; page < IMAGE_BLOCKS * FP_PAGER_BLOCK_PAGES; page++)
        memcpy(medium[chip_page_of(page)], kept_image[page], sizeof(kept_image[page]));
}

static void start_with_image(void)
{
    chip_reset();
    failures = 0;
    write_image(version);
    EXPECT_EQ(fp_pager_start(), 0);
}

static int byte_at(uint32_t offset)
{
    uint8_t byte;
    int error = fp_pager_read((fp_offset)offset, &byte, 1);
    return error ? error : byte;
}

static int expected_byte(uint32_t offset)
{
    return (uint8_t)(image_byte(offset) + version);
}

/* With each set of bad blocks, the pager finds all pages, or refuses the start if too many are bad. */
static void passes_bad_blocks(void)
{
    for (uint32_t set = 0; set < 1u << BLOCKS; set++) {
        uint32_t good = 0, before = 0;
        for (uint32_t block = 0; block < BLOCKS; block++) {
            bad_blocks[block] = set >> block & 1;
            if (good < IMAGE_BLOCKS) {
                good += !bad_blocks[block];
                before += (uint32_t)bad_blocks[block];
            }
        }
        test_at("set %u", set);
        if (before > FP_PAGER_BAD_BLOCKS) {
            EXPECT_EQ(fp_pager_start(), FP_PAGER_BAD);
            continue;
        }
        start_with_image();
        for (uint32_t offset = 0; offset < FP_PAGER_IMAGE_BYTES; offset += 500)
            EXPECT_EQ(byte_at(offset), expected_byte(offset));
        EXPECT_EQ(byte_at(FP_PAGER_IMAGE_BYTES - 1), expected_byte(FP_PAGER_IMAGE_BYTES - 1));
    }
}

/* Reads of pinned pages are not counted as references. They do not separate other references either:
 * bytes of the same page before and after a pinned one are a single reference. */
static void pins(void)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    memset(bad_blocks, 0, sizeof(bad_blocks));
    start_with_image();
    EXPECT_EQ(stat.references + stat.loads + stat.bytes_fetched, 0);
    /* They stay readable, whatever happens to the chip's copy. */
    memset(medium[0], 0xff, 3 * FP_PAGER_PAGE_BYTES);
    for (uint32_t i = 0; i < 3 * FP_PAGER_PAGE_BYTES; i++)
        EXPECT_EQ(fp_cursor_byte(&cursor), expected_byte(i));
    EXPECT_EQ(stat.references, 0);
    EXPECT_EQ(fp_cursor_byte(&cursor), expected_byte(192));
    /* The pinned pages were fetched at the start, but this page must be loaded again. */
    EXPECT_EQ(stat.other_page, 1);
    EXPECT_EQ(stat.loads, 1);
    fp_cursor_jump(&cursor, 70);
    EXPECT_EQ(fp_cursor_byte(&cursor), expected_byte(70));
    fp_cursor_jump(&cursor, 193);
    EXPECT_EQ(fp_cursor_byte(&cursor), expected_byte(193));
    EXPECT_EQ(stat.references, 1);
}

/* A page that was altered, moved or taken from an older image is refused. Others stay readable. */
static void refuses(void)
{
    uint8_t old[sizeof(medium[0])];
    memset(bad_blocks, 0, sizeof(bad_blocks));
    start_with_image();
    /* Flips every bit of a unit and of its tag. */
    for (uint32_t bit = 0; bit < 8 * (FP_PAGER_PAGE_BYTES + FP_PAGER_TAG_BYTES); bit++) {
        const uint32_t byte = bit / 8;
        uint8_t *at = &medium[5][byte < FP_PAGER_PAGE_BYTES
                                     ? byte
                                     : FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT + byte -
                                           FP_PAGER_PAGE_BYTES];
        *at ^= (uint8_t)(1u << bit % 8);
        EXPECT_EQ(byte_at(5 * FP_PAGER_FLASH_PAGE_BYTES + 7), FP_PAGER_FORGED);
        EXPECT_EQ(byte_at(6 * FP_PAGER_FLASH_PAGE_BYTES + bit), expected_byte(6 * 1024 + bit));
        *at ^= (uint8_t)(1u << bit % 8);
    }
    EXPECT_EQ(failures, 8 * (FP_PAGER_PAGE_BYTES + FP_PAGER_TAG_BYTES));
    EXPECT_EQ(byte_at(5 * FP_PAGER_FLASH_PAGE_BYTES + 7), expected_byte(5 * 1024 + 7));

    /* Swaps two flash pages with their tags, and two units of one page. */
    memcpy(old, medium[7], sizeof(old));
    memcpy(medium[7], medium[8], sizeof(old));
    memcpy(medium[8], old, sizeof(old));
    EXPECT_EQ(byte_at(7 * 1024), FP_PAGER_FORGED);
    EXPECT_EQ(byte_at(8 * 1024 + 1000), FP_PAGER_FORGED);
    start_with_image();
    memcpy(old, medium[7], 64);
    memcpy(medium[7], medium[7] + 64, 64);
    memcpy(medium[7] + 64, old, 64);
    EXPECT_EQ(byte_at(7 * 1024), FP_PAGER_FORGED);

    /* Puts a page of the last version into a new image, then the whole last image. */
    start_with_image();
    memcpy(old, medium[9], sizeof(old));
    version++;
    start_with_image();
    memcpy(medium[9], old, sizeof(old));
    EXPECT_EQ(byte_at(9 * 1024), FP_PAGER_FORGED);
    EXPECT_EQ(byte_at(10 * 1024), expected_byte(10 * 1024));
    write_image(version - 1);
    EXPECT_EQ(fp_pager_start(), FP_PAGER_FORGED);
    oldest = version;
    version--;
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OLD);
    version++;
    start_with_image();
}

static const struct test tests[] = {
    {"pager_passes_bad_blocks", passes_bad_blocks},
    {"pager_pins", pins},
    {"pager_refuses_forged", refuses},
    {NULL, NULL},
};

TEST_LIST(tests)
