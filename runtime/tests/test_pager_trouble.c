/*
 * The pager with everything at once: tags by AES-CMAC, codewords, bad blocks and retries
 *
 * All pairs of units take all outcomes of their tries, with one bad block; a sample of them also takes all
 * other sets of bad blocks. The expected result follows from the list of outcomes alone.
 */
#include "test.h"

#include <string.h>

#include "../pager/mac/aes_cmac.h"

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 2
#define FP_PAGER_PAGE_BYTES 128
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_CODEWORD_BYTES 256
#define FP_PAGER_IMAGE_BYTES 2048
#define FP_PAGER_BLOCK_PAGES 1
#define FP_PAGER_BAD_BLOCKS 2
#define FP_PAGER_RETRIES 1
#define FP_PAGER_TAG_BYTES 8
#define FP_PAGER_TAG_AT 2
#define FP_PAGER_IMAGE_VERSION 7
#include "../pager/pager.c"

#define PAGES 2
#define BLOCKS (PAGES + FP_PAGER_BAD_BLOCKS)
#define UNITS (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_CODEWORD_BYTES)
#define TRIES (1 + FP_PAGER_RETRIES)

/* The outcomes of an attempt. A load cannot fail if the page is held already. */
enum event { FINE, CORRECTED, LOAD_FAILS, FETCH_FAILS, CORRUPT, DATA_LIES, TAG_FAILS, TAG_LIES, EVENTS };

static enum event events[3 * TRIES];
static unsigned next_event;
static enum event now;
static bool in_try;
static enum { WAITING, FETCHING, AT_TAG } doing;
static unsigned bad_set;
static int asked;
static struct fp_aes_cmac mac;

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Returns the image's page in a block: the good ones are counted. */
static uint32_t page_in(uint32_t block)
{
    uint32_t page = 0;
    EXPECT(!(bad_set >> block & 1));
    for (uint32_t before = 0; before < block; before++)
        page += !(bad_set >> before & 1);
    EXPECT(page < PAGES);
    return page;
}

static void begin_try(void)
{
    now = events[next_event++];
    in_try = true;
}

static uint8_t chip_byte(uint32_t block, uint32_t column)
{
    static uint8_t tags[PAGES][UNITS][FP_PAGER_TAG_BYTES];
    static bool made;
    const uint32_t page = page_in(block);
    if (!made) {
        for (uint32_t number = 0; number < PAGES * UNITS; number++) {
            const uint8_t head[8] = {FP_PAGER_IMAGE_VERSION, 0, 0, 0, (uint8_t)number, 0, 0, 0};
            uint8_t unit[FP_PAGER_CODEWORD_BYTES];
            for (uint32_t i = 0; i < sizeof(unit); i++)
                unit[i] = image_byte(number * FP_PAGER_CODEWORD_BYTES + i);
            fp_aes_cmac(&mac, head, unit, sizeof(unit), tags[number / UNITS][number % UNITS],
                        FP_PAGER_TAG_BYTES);
        }
        made = true;
    }
    if (column < FP_PAGER_FLASH_PAGE_BYTES) {
        if (!in_try)
            begin_try();
        doing = FETCHING;
        return (uint8_t)(image_byte(page * FP_PAGER_FLASH_PAGE_BYTES + column) ^
                         (now == DATA_LIES && column % 64 == 63 ? 0x80 : 0));
    }
    doing = AT_TAG;
    column -= FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT;
    return (uint8_t)(tags[page][column / FP_PAGER_TAG_BYTES][column % FP_PAGER_TAG_BYTES] ^
                     (now == TAG_LIES && column % FP_PAGER_TAG_BYTES == 7));
}

static bool fails(void)
{
    return (doing == WAITING && now == LOAD_FAILS) || (doing == FETCHING && now == FETCH_FAILS) ||
           (doing == AT_TAG && now == TAG_FAILS);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES BLOCKS
#define CHIP_BYTE(page, column) chip_byte(page, column)
#define CHIP_LOADED(buffer, page) begin_try()
#define CHIP_WAITS() (doing = WAITING)
#define CHIP_FAILS() fails()
#define CHIP_SPARE_BYTES (FP_PAGER_TAG_AT + UNITS * FP_PAGER_TAG_BYTES)
#include "../pager/emulated/chip.h"

FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    EXPECT(now == FINE || now == CORRECTED || now >= DATA_LIES || now == LOAD_FAILS);
    fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
}

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return FP_PAGER_IMAGE_VERSION;
}

FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    return (int)(bad_set >> block & 1);
}

FP_PAGER_API int fp_flash_correct(fp_flash_page block, uint_fast16_t column, uint8_t *word)
{
    EXPECT(page_in((uint32_t)block) < PAGES && column % FP_PAGER_CODEWORD_BYTES == 0 && word);
    return now == CORRUPT ? FP_PAGER_CORRUPT : now == CORRECTED;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    asked++;
    return error;
}

/* The expected counts, by the outcomes. */
struct expected {
    uint32_t misses, retries, failures, corrected;
};

/* Returns the error that an outcome leads to, with a load or without. */
static int error_of(enum event event, bool with_load)
{
    switch (event) {
    case LOAD_FAILS: return with_load ? FP_PAGER_IO : FP_PAGER_OK;
    case FETCH_FAILS:
    case TAG_FAILS: return FP_PAGER_IO;
    case CORRUPT: return FP_PAGER_CORRUPT;
    case DATA_LIES:
    case TAG_LIES: return FP_PAGER_FORGED;
    default: return FP_PAGER_OK;
    }
}

/* Fails if bytes of a codeword that was refused are still in RAM. */
static void expect_wiped(void)
{
    for (unsigned i = 0; i < sizeof(codeword); i++)
        EXPECT_EQ(codeword[i], 0);
}

/* Plays the tries of a unit that is not cached. Returns the error that the pager must return. */
static int reference(uint32_t unit, uint32_t *held, unsigned *at, struct expected *expected)
{
    const uint32_t offset = unit * FP_PAGER_CODEWORD_BYTES + 5;
    const uint32_t flash_page = offset / FP_PAGER_FLASH_PAGE_BYTES;
    int error = FP_PAGER_OK, got;
    uint8_t byte = 0;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        const enum event event = events[(*at)++];
        expected->retries += tries > 0;
        error = error_of(event, *held != flash_page);
        *held = error ? UINT32_MAX : flash_page;
        expected->corrected += !error && event == CORRECTED;
        if (!error || error == FP_PAGER_FORGED)
            break;
    }
    expected->misses += !error;
    expected->failures += error != 0;
    in_try = false;
    asked = 0;
    got = fp_pager_read((fp_offset)offset, &byte, 1);
    EXPECT_EQ(got, error);
    EXPECT_EQ(asked, error != 0);
    if (!error)
        EXPECT_EQ(byte, image_byte(offset));
    if (error == FP_PAGER_FORGED)
        expect_wiped();
    EXPECT_EQ(next_event, *at);
    return error;
}

static void check_frames(void)
{
    for (unsigned frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        const fp_page page = PAGE_OF(pager.entry[frame]);
        for (unsigned i = 0; page != NO_PAGE && i < FP_PAGER_PAGE_BYTES; i++)
            EXPECT_EQ(frames[frame * FP_PAGER_PAGE_BYTES + i],
                      image_byte((uint32_t)page * FP_PAGER_PAGE_BYTES + i));
    }
}

static void check_counts(const struct expected *expected)
{
    EXPECT_EQ(stat.misses, expected->misses);
    EXPECT_EQ(stat.retries, expected->retries);
    EXPECT_EQ(stat.failures, expected->failures);
    EXPECT_EQ(stat.corrected, expected->corrected);
    EXPECT_EQ(stat.tag_bytes_fetched, expected->misses * FP_PAGER_TAG_BYTES);
    EXPECT_EQ(stat.mac_bytes, expected->misses * (FP_PAGER_CODEWORD_BYTES + 8));
    EXPECT_EQ(stat.bytes_fetched,
              expected->misses * (FP_PAGER_CODEWORD_BYTES + FP_PAGER_TAG_BYTES));
    EXPECT_EQ(stat.column_changes, expected->misses + stat.forward + stat.backward);
}

/* References two units with any outcomes, then a third one without failures. */
static void all_at_once(void)
{
    static const uint8_t key[FP_AES_CMAC_KEY_BYTES] = {4, 2};
    fp_aes_cmac_key(&mac, key);
    for (bad_set = 0; bad_set < 1u << BLOCKS; bad_set++) {
        unsigned bad_ones = 0;
        for (unsigned block = 0; block < BLOCKS; block++)
            bad_ones += bad_set >> block & 1;
        if (bad_ones > FP_PAGER_BAD_BLOCKS)
            continue;
        for (uint32_t pair = 0; pair < 9; pair++) {
            /* A page of the same flash page, and of another one. */
            static const uint32_t units[3] = {0, 3, UNITS + 1};
            if (pair / 3 == pair % 3)
                continue;
            const uint32_t step = bad_set == 2 ? 1 : 41;
            for (uint32_t script = step > 1 ? pair : 0; script < EVENTS * EVENTS * EVENTS * EVENTS; script += step) {
                struct expected expected = {0, 0, 0, 0};
                uint32_t held = UINT32_MAX, left = script;
                unsigned at = 0;
                test_at("bad blocks %u, pair %u, script %u", bad_set, pair, script);
                for (unsigned i = 0; i < 2 * TRIES; i++, left /= EVENTS)
                    events[i] = (enum event)(left % EVENTS);
                for (unsigned i = 2 * TRIES; i < 3 * TRIES; i++)
                    events[i] = FINE;
                next_event = 0;
                chip_reset();
                EXPECT_EQ(fp_pager_start(), 0);
                reference(units[pair / 3], &held, &at, &expected);
                check_frames();
                reference(units[pair % 3], &held, &at, &expected);
                check_frames();
                for (unsigned i = at; i < 3 * TRIES; i++)
                    events[i] = FINE;
                EXPECT_EQ(reference(UNITS + 3, &held, &at, &expected), 0);
                check_counts(&expected);
            }
        }
    }
}

static const struct test tests[] = {
    {"pager_all_trouble_at_once", all_at_once},
    {NULL, NULL},
};

TEST_LIST(tests)
