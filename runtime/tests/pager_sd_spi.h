/*
 * The driver of an SD card in front of an emulated one, of the kind that the including file defines
 *
 * The card sees bytes, as a real one does. It stops at illegal use: a command with a wrong CRC, or in a state
 * that does not know it; a fast clock before it is ready; a block outside the image. Bits of a block may flip,
 * a read may fail or never answer, the bus may fail, and the card may go. A block that was left may go on
 * later, and a command is lost in it.
 */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_SIEVE
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 5
#define FP_PAGER_FLASH_PAGE_BYTES FP_PAGER_PAGE_BYTES
#define FP_PAGER_IMAGE_BYTES 150001
#define FP_SD_POLLS 400
#include "../pager/pager.c"

#include "../pager/sd_spi/sd_spi.c"

#include "pager_reads.h"

#define IMAGE_BLOCKS (FP_PAGER_PAGES * BLOCKS_A_PAGE)

enum state { NATIVE, IDLE_STATE, READY };

static struct {
    uint64_t random;
    unsigned often;   /* of 256 blocks, those with any trouble; of 65536 exchanges, those that fail */
    enum line line;
    enum state state;
    bool is_selected, is_fast, checks_crc, is_application;
    unsigned woken;   /* bytes of clocks while it was not selected */
    unsigned starts;  /* operations until it is ready */
    uint8_t command[6];
    unsigned taken;   /* bytes of the command */
    uint8_t answer[600];
    unsigned at, size; /* of the answer */
    uint32_t blocks;
} card;

/* The remainder of a polynomial of so many bits, bit by bit. */
static uint32_t remainder_of(const uint8_t *bytes, uint32_t size, unsigned bits, uint32_t polynomial)
{
    uint32_t rest = 0;
    for (uint32_t i = 0; i < 8 * size; i++) {
        const uint32_t next = (rest >> (bits - 1) ^ bytes[i / 8] >> (7 - i % 8)) & 1;
        rest = (rest << 1 & ((UINT32_C(1) << bits) - 1)) ^ (next ? polynomial : 0);
    }
    return rest;
}

static void put(uint8_t byte)
{
    card.answer[card.size++] = byte;
}

static void pause_for(unsigned bytes)
{
    for (unsigned i = random_below(&card.random, bytes); i > 0; i--)
        put(0xff);
}

static void put_block(uint32_t block)
{
    uint8_t *bytes;
    uint32_t crc;
    unsigned trouble = 0;
    block -= FP_SD_FIRST_BLOCK;
    EXPECT(block < IMAGE_BLOCKS);
    if (random_below(&card.random, 256) < card.often)
        trouble = 1 + random_below(&card.random, 3);
    pause_for(40);
    if (trouble == 1) {
        put((uint8_t)(1u << random_below(&card.random, 4))); /* a token of an error */
        return;
    }
    if (trouble == 2)
        return; /* silence */
    put(0xfe);
    bytes = card.answer + card.size;
    for (uint32_t i = 0; i < 512; i++)
        put(image_byte(block * 512 + i));
    crc = remainder_of(bytes, 512, 16, 0x1021);
    put((uint8_t)(crc >> 8));
    put((uint8_t)crc);
    if (trouble == 3)
        bytes[random_below(&card.random, 514)] ^= (uint8_t)(1u << random_below(&card.random, 8));
    card.blocks++;
}

/* Answers a command that has come whole. */
static void obey(void)
{
    const uint8_t *bytes = card.command;
    const unsigned number = bytes[0] & 0x3fu;
    const uint32_t argument =
        (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 8 | bytes[4];
    const uint8_t idle = card.state == READY ? 0 : 1;
    const bool is_application = card.is_application;
    EXPECT_EQ(bytes[5], remainder_of(bytes, 5, 7, 0x09) << 1 | 1);
    EXPECT(!card.is_fast || card.state != IDLE_STATE);
    card.at = card.size = 0;
    card.is_application = false;
    pause_for(8);
    if (number == 0) {
        EXPECT(card.woken >= 10);
        card.state = IDLE_STATE;
        card.starts = 1 + random_below(&card.random, 5);
        card.checks_crc = false;
        put(1);
        return;
    }
    if (card.state == NATIVE) {
        card.size = 0; /* a card that was not brought into SPI mode is silent */
        return;
    }
    if (number == 8) {
        if (CARD_VERSION == 1) {
            put(0x05);
            return;
        }
        put(idle);
        put(0);
        put(0);
        put(bytes[3] & 0x0f);
        put(bytes[4]);
    } else if (number == 55) {
        card.is_application = true;
        /* A card that is about to be ready may say so here. */
        put(card.starts == 1 && random_below(&card.random, 2) ? 0 : idle);
    } else if (number == 41) {
        EXPECT(is_application && (argument >> 30 & 1) == (CARD_VERSION > 1));
        card.state = --card.starts ? IDLE_STATE : READY;
        put(card.state == READY ? 0 : 1);
    } else if (number == 58) {
        put(idle);
        put((uint8_t)(0x80 | (CARD_HAS_BLOCKS ? 0x40 : 0)));
        put(0xff);
        put(0x80);
        put(0);
    } else if (number == 59) {
        EXPECT_EQ(argument, 1);
        card.checks_crc = true;
        put(idle);
    } else if (number == 16) {
        EXPECT(!CARD_HAS_BLOCKS && argument == 512);
        put(idle);
    } else if (number == 17) {
        EXPECT(card.state == READY && card.checks_crc && (CARD_HAS_BLOCKS || argument % 512 == 0));
        put(0);
        put_block(CARD_HAS_BLOCKS ? argument : argument / 512);
    } else {
        FAIL("unknown command %u", number);
    }
}

/* Takes a byte and gives one, as each clock of the bus does. */
static uint8_t clock_byte(uint8_t sent)
{
    uint8_t out = 0xff;
    if (!card.is_selected) {
        EXPECT_EQ(sent, 0xff);
        card.woken += !card.is_fast;
        return out;
    }
    /* A command that comes while the card sends is lost. */
    if (card.at < card.size)
        return card.answer[card.at++];
    if (card.taken || (sent & 0xc0) == 0x40) {
        card.command[card.taken++] = sent;
        if (card.taken == sizeof(card.command)) {
            card.taken = 0;
            obey();
        }
        return out;
    }
    return out;
}

FP_PAGER_API void fp_sd_select(uint_fast8_t is_selected)
{
    if (card.is_selected && !is_selected) {
        card.taken = 0;
        /* Some cards go on with a block when they are selected again. */
        if (random_below(&card.random, 2))
            card.at = card.size = 0;
    }
    card.is_selected = is_selected != 0;
}

FP_PAGER_API void fp_sd_clock(uint_fast8_t is_fast)
{
    card.is_fast = is_fast != 0;
}

FP_PAGER_API int fp_sd_exchange(const uint8_t *sent, uint8_t *got, uint_fast16_t size)
{
    const bool fails = random_below(&card.random, 65536) < card.often;
    for (uint_fast16_t i = 0; i < size; i++) {
        const uint8_t byte = card.line == DRIVEN ? clock_byte(sent ? sent[i] : 0xff) : 0;
        if (got)
            got[i] = card.line == DRIVEN ? byte : card.line == LOW ? 0 : 0xff;
    }
    return fails;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES && error == FP_PAGER_IO);
    EXPECT(fp_sd_stat()->failure != FP_SD_FINE);
    (void)fp_sd_start();
    return error;
}

/* A good card, started, with the pager started, too. */
static void begin(uint64_t seed)
{
    memset(&card, 0, sizeof(card));
    memset(&sd, 0, sizeof(sd));
    card.random = seed;
    EXPECT_EQ(fp_sd_start(), FP_PAGER_OK);
    EXPECT(card.state == READY && card.is_fast && !card.is_selected);
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
}

/* Reads at random, as compare_reads() does. */
static unsigned read_at_random(unsigned reads)
{
    unsigned failed = 0;
    for (; reads > 0; reads--) {
        failed += compare_reads(&card.random, 1, READ_MOST_BYTES);
        EXPECT(!card.is_selected);
    }
    return failed;
}

/* With any troubles, every byte is right or the read fails. */
static void fuzz(void)
{
    const uint32_t rounds = test_rounds(200);
    uint32_t failed = 0;
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        begin(seed);
        EXPECT_EQ(read_at_random(20), 0);
        card.often = 1 + random_below(&card.random, 128);
        failed += read_at_random(60);
        card.often = 0;
        EXPECT_EQ(fp_sd_start(), FP_PAGER_OK);
        EXPECT_EQ(read_at_random(10), 0);
    }
    EXPECT(failed > rounds / 8);
}

/* Each miss reads the blocks of its page once. */
static void blocks(void)
{
    begin(1);
    EXPECT_EQ(read_at_random(300), 0);
    EXPECT_EQ(card.blocks, fp_pager_stat()->misses * BLOCKS_A_PAGE);
    EXPECT_EQ(card.blocks, fp_sd_stat()->blocks);
    EXPECT_EQ(fp_sd_stat()->failures, 0);
}

/* A card that is absent or was taken out: an error, and no byte. */
static void absence(void)
{
    uint8_t byte = 77;
    for (enum line line = LOW; line <= HIGH; line++) {
        begin(line);
        card.line = line;
        EXPECT_EQ(fp_pager_read(9000, &byte, 1), FP_PAGER_IO);
        EXPECT_EQ(fp_sd_stat()->failure, line == LOW ? FP_SD_REFUSED : FP_SD_SILENT);
        EXPECT_EQ(fp_pager_read(20000, &byte, 1), FP_PAGER_IO);
        EXPECT_EQ(fp_sd_start(), FP_PAGER_IO);
        card.line = DRIVEN;
        card.state = NATIVE; /* put back */
        EXPECT_EQ(fp_sd_start(), FP_PAGER_OK);
        EXPECT_EQ(read_at_random(20), 0);
    }
    /* The microcontroller was reset while a block was on its way. */
    for (uint64_t seed = 0; seed < 20; seed++) {
        begin(seed);
        fp_flash_load(3, 0);
        memset(&sd, 0, sizeof(sd));
        EXPECT_EQ(fp_sd_start(), FP_PAGER_OK);
        EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
        EXPECT_EQ(read_at_random(5), 0);
    }
    /* Without a start after it was put back. */
    begin(5);
    card.state = NATIVE;
    EXPECT_EQ(fp_pager_read(9000, &byte, 1), FP_PAGER_IO);
    EXPECT_EQ(fp_sd_stat()->failure, FP_SD_FINE); /* fp_flash_failed() has started it */
    EXPECT_EQ(fp_pager_read(9000, &byte, 1), FP_PAGER_OK);
    EXPECT_EQ(byte, image_byte(9000));
}
