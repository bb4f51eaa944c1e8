/*
 * The driver of a OneNAND in front of an emulated chip of two dies. The including file chooses how the
 * driver notices the end of a load.
 *
 * The chip stops at illegal use: a command while its interrupt is not cleared or another die is visible,
 * a read of a buffer that is being loaded, a write to any other word. A load may be corrected, be wrong,
 * be refused or never end.
 */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_FRAMES 7
#define FP_PAGER_PAGE_BYTES 1024
#define FP_PAGER_FLASH_PAGE_BYTES 2048
/* More than three blocks, one of them bad. Two are on the first die. */
#define FP_PAGER_IMAGE_BYTES 300001
#define FP_PAGER_BAD_BLOCKS 1

#define DIE_PAGES 32768u
#define FP_ONENAND_FIRST_PAGE (DIE_PAGES - 128u)
#define FP_ONENAND_ASKED 60
#define FP_ONENAND_READ(word) chip_read(word)
#define FP_ONENAND_WRITE(word, value) chip_write((word), (uint16_t)(value))
static uint16_t chip_read(uint32_t word);
static void chip_write(uint32_t word, uint16_t value);

#include "../pager/pager.c"

#include "../pager/onenand/onenand.c"

#define BLOCK_PAGES FP_ONENAND_BLOCK_PAGES
#define FIRST_BLOCK (FP_ONENAND_FIRST_PAGE / BLOCK_PAGES)

enum trouble { NONE, CORRECTED, WRONG, REFUSED, NO_LOAD, SILENT };

static struct {
    uint16_t address_1, address_2, address_8, start_buffer, config, device, maker, buffer_bytes;
    uint16_t buffers;
    struct die {
        uint8_t data[2][2048];
        uint16_t spare[2][32];
        uint16_t interrupts, status, ecc;
        uint32_t page, sector, sectors, buffer, command;
        unsigned left; /* polls until the load has ended; 0: the chip is idle */
        enum trouble trouble;
    } die[2];
    uint64_t random;
    unsigned often;     /* loads of 256 with trouble */
    enum trouble next;  /* the trouble of the next load */
    bool for_ever;      /* the trouble of all later loads */
    uint32_t bad_block; /* the block with the maker's mark */
    uint32_t loads, resets, corrected;
    unsigned asked;
} chip;

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    return (uint8_t)(((page * 2048u + column) * UINT32_C(2654435761)) >> 24);
}

static struct die *seen(void)
{
    return &chip.die[chip.address_2 >> 15];
}

static void done(struct die *die)
{
    die->left = 0;
    die->status = die->ecc = 0;
    die->interrupts = 0x8000u;
    if (die->command == FP_ONENAND_RESET) {
        die->interrupts |= 0x10u;
        return;
    }
    if (die->trouble != NO_LOAD)
        die->interrupts |= 0x80u;
    if (die->trouble == CORRECTED) {
        die->ecc = 0x0004u;
        chip.corrected++;
    }
    if (die->trouble == WRONG) {
        die->ecc = 0x0008u;
        die->status = 0x2400u;
    }
    if (die->trouble == REFUSED)
        die->status = 0x2400u;
    for (uint32_t sector = die->sector; sector < die->sector + die->sectors; sector++) {
        for (uint32_t at = 512 * sector; at < 512 * (sector + 1); at++) {
            const uint8_t right = chip_byte(die->page, at);
            if (die->command == FP_ONENAND_LOAD)
                die->data[die->buffer][at] = die->trouble > CORRECTED ? (uint8_t)~right : right;
        }
    }
    if (die->command == FP_ONENAND_LOAD_SPARE)
        memset(die->spare[die->buffer], die->page / BLOCK_PAGES == chip.bad_block ? 0 : 0xff, 64);
}

/* Lets time pass. */
static void chip_tick(struct die *die)
{
    if (die->left && die->trouble != SILENT && !--die->left)
        done(die);
}

static uint16_t chip_read(uint32_t word)
{
    struct die *die = seen();
    switch (word) {
    case FP_ONENAND_MAKER:
        return chip.maker;
    case FP_ONENAND_DEVICE:
        return chip.device;
    case FP_ONENAND_BUFFER_BYTES:
        return chip.buffer_bytes;
    case FP_ONENAND_BUFFERS:
        return chip.buffers;
    case FP_ONENAND_CONFIG_1:
        return chip.config;
    case FP_ONENAND_STATUS:
        return die->status;
    case FP_ONENAND_ECC_STATUS:
        return die->ecc;
    case FP_ONENAND_INTERRUPTS:
        chip.asked++;
        chip_tick(die);
        return die->interrupts;
    case FP_ONENAND_SPARE:
        EXPECT(!die->left);
        return die->spare[0][0];
    default: {
        const uint32_t at = 2 * (word - FP_ONENAND_DATA), buffer = at / 2048;
        EXPECT(word >= FP_ONENAND_DATA && buffer < 2);
        EXPECT(!die->left || die->buffer != buffer);
        return (uint16_t)(die->data[buffer][at % 2048] | die->data[buffer][at % 2048 + 1] << 8);
    }
    }
}

static void chip_command(struct die *die, uint16_t command)
{
    EXPECT(!(die->interrupts & 0x8000u));
    die->command = command;
    if (command == FP_ONENAND_RESET) {
        chip.resets++;
        /* Their contents are undefined then. */
        memset(die->data, 0x55, sizeof(die->data));
        die->trouble = NONE;
        die->left = 3;
        return;
    }
    EXPECT(command == FP_ONENAND_LOAD || command == FP_ONENAND_LOAD_SPARE);
    EXPECT(!die->left && chip.config == 0x40e0u);
    EXPECT_EQ(chip.address_1 >> 15, chip.address_2 >> 15);
    die->page = (chip.address_1 >> 15) * DIE_PAGES + (chip.address_1 & 0xfffu) * BLOCK_PAGES +
                (chip.address_8 >> 2);
    die->sector = chip.address_8 & 3u;
    die->sectors = chip.start_buffer & 3u ? chip.start_buffer & 3u : 4;
    EXPECT(chip.start_buffer & 0x800u);
    die->buffer = chip.start_buffer >> 10 & 1u;
    EXPECT_EQ(chip.start_buffer >> 8 & 3u, die->sector);
    EXPECT(die->sector + die->sectors <= 4);
    EXPECT((chip.address_8 >> 2) < BLOCK_PAGES);
    die->trouble = chip.next;
    if (!chip.for_ever)
        chip.next = NONE;
    if (random_below(&chip.random, 256) < chip.often)
        die->trouble = (enum trouble)(1 + random_below(&chip.random, 5));
    die->left = 1 + random_below(&chip.random, 20);
    chip.loads++;
}

static void chip_write(uint32_t word, uint16_t value)
{
    switch (word) {
    case FP_ONENAND_ADDRESS_1:
        chip.address_1 = value;
        return;
    case FP_ONENAND_ADDRESS_2:
        chip.address_2 = value;
        return;
    case FP_ONENAND_ADDRESS_8:
        chip.address_8 = value;
        return;
    case FP_ONENAND_START_BUFFER:
        chip.start_buffer = value;
        return;
    case FP_ONENAND_CONFIG_1:
        chip.config = value;
        return;
    case FP_ONENAND_INTERRUPTS:
        seen()->interrupts &= value;
        return;
    case FP_ONENAND_COMMAND:
        chip_command(seen(), value);
        return;
    default:
        FAIL("a write to word %#x", word);
    }
}

static void chip_reset(uint64_t seed)
{
    memset(&chip, 0, sizeof(chip));
    chip.maker = 0xecu;
    chip.device = 0x38u;
    chip.buffer_bytes = 2048;
    chip.buffers = 0x0201u;
    chip.config = 0x40c0u;
    chip.bad_block = UINT32_MAX;
    chip.random = seed;
    EXPECT_EQ(fp_onenand_start(), 0);
    EXPECT_EQ(onenand.pages, 2 * DIE_PAGES);
    EXPECT_EQ(onenand.die_pages, DIE_PAGES);
    EXPECT_EQ(chip.resets, 2);
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES);
    EXPECT_EQ(error, fp_onenand_why() == FP_ONENAND_ECC ? FP_PAGER_CORRUPT : FP_PAGER_IO);
    EXPECT(fp_onenand_why() != FP_ONENAND_FINE);
    return error;
}

/* Returns the chip's page that holds a page of the image. */
static uint32_t place_of(uint32_t offset)
{
    const uint32_t page = FP_ONENAND_FIRST_PAGE + offset / 2048;
    return page / BLOCK_PAGES >= chip.bad_block ? page + BLOCK_PAGES : page;
}

static void expect_page(const uint8_t *bytes, uint32_t page)
{
    for (uint32_t at = 0; at < 1024; at++) {
        const uint32_t offset = page * 1024 + at;
        EXPECT_EQ(bytes[at], chip_byte(place_of(offset), offset % 2048));
    }
}

/* Pages and literals come in any order. Their bytes are right, whatever fails. */
static void fuzz(void)
{
    const uint32_t first = test_first(), rounds = test_rounds(80);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        uint32_t page = 0, right = 0;
        test_at("seed %u", seed);
        chip_reset(seed);
        if (seed % 2)
            chip.bad_block = FIRST_BLOCK + seed / 2 % 3;
        EXPECT_EQ(fp_pager_start(), 0);
        chip.often = seed % 3 * 40;
        for (unsigned step = 0; step < 1000; step++) {
            if (random_below(&chip.random, 8) == 0 && chip.bad_block == UINT32_MAX) {
                const uint32_t offset =
                    random_below(&chip.random, FP_PAGER_IMAGE_BYTES / 4) * 4;
                uint8_t word[4];
                const int error = fp_onenand_peek(offset, word, 4);
                for (uint32_t at = 0; !error && at < 4; at++)
                    EXPECT_EQ(word[at],
                              chip_byte(place_of(offset), (offset + at) % 2048));
                right += !error;
                EXPECT(!error || chip.often);
                continue;
            }
            page = random_below(&chip.random, 3) ? (page + 1) % FP_PAGER_PAGES
                                                 : random_below(&chip.random, FP_PAGER_PAGES);
            {
                const uint8_t *bytes = fp_pager_page(page);
                if (bytes)
                    expect_page(bytes, page);
                right += bytes != NULL;
                EXPECT(bytes || chip.often);
            }
        }
        EXPECT(right > 700);
        EXPECT_EQ(fp_onenand_corrected(), chip.corrected);
        EXPECT(!chip.often || chip.corrected > 0);
    }
}

/* Each kind of trouble, once and for ever. */
static void troubles(void)
{
    static const struct {
        enum trouble trouble;
        enum fp_onenand_failure why;
        int error;
    } cases[] = {
        {WRONG, FP_ONENAND_ECC, FP_PAGER_CORRUPT},
        {REFUSED, FP_ONENAND_REFUSED, FP_PAGER_IO},
        {NO_LOAD, FP_ONENAND_REFUSED, FP_PAGER_IO},
        {SILENT, FP_ONENAND_SILENT, FP_PAGER_IO},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_at("trouble %d", (int)cases[i].trouble);
        chip_reset(i);
        EXPECT_EQ(fp_pager_start(), 0);
        chip.next = cases[i].trouble;
        expect_page(fp_pager_page(9), 9);
        EXPECT_EQ(fp_pager_stat()->retries, 1);
        EXPECT_EQ(fp_pager_stat()->failures, 0);
        EXPECT_EQ(chip.resets, cases[i].trouble == SILENT ? 3 : 2);
        chip.next = cases[i].trouble;
        chip.for_ever = true;
        chip.loads = 0;
        EXPECT(!fp_pager_page(40));
        EXPECT_EQ(fp_pager_error(), cases[i].error);
        EXPECT_EQ(fp_onenand_why(), cases[i].why);
        EXPECT_EQ(chip.loads, 1 + FP_PAGER_RETRIES);
        chip.next = NONE;
        expect_page(fp_pager_page(40), 40);
    }
}

/* Loads of a page beyond the chip, and of sectors of it. */
static void loads(void)
{
    chip_reset(1);
    fp_onenand_load(2 * DIE_PAGES, 0, 4, 0);
    EXPECT_EQ(chip.loads, 0);
    EXPECT_EQ(fp_onenand_ask(), FP_PAGER_IO);
    EXPECT_EQ(fp_onenand_wait(), FP_PAGER_IO);
    EXPECT_EQ(fp_onenand_why(), FP_ONENAND_BEYOND);
    memset(&chip.die[1].data[1], 0xee, 2048);
    fp_onenand_load(2 * DIE_PAGES - 1, 1, 2, 1);
    EXPECT_EQ(fp_onenand_ask(), 1);
    EXPECT_EQ(fp_onenand_wait(), 0);
    EXPECT_EQ(fp_onenand_ask(), 0);
    for (uint32_t at = 0; at < 2048; at++) {
        const uint8_t right = at / 512 % 3 ? chip_byte(2 * DIE_PAGES - 1, at) : 0xee;
        EXPECT_EQ(chip.die[1].data[1][at], right);
    }
}

/* After a peek the buffers hold their pages again, or are known to have lost them; the page of the literal
 * is not kept. */
static void peeks(void)
{
    uint8_t word[4];
    chip_reset(1);
    EXPECT_EQ(fp_pager_start(), 0);
    expect_page(fp_pager_page(10), 10);
    EXPECT_EQ(fp_onenand_peek(7 * 1024 + 600, word, 4), 0);
    EXPECT_EQ(word[3], chip_byte(place_of(7 * 1024), 1024 + 603));
    chip.loads = 0;
    expect_page(fp_pager_page(12), 12);
    EXPECT_EQ(chip.loads, 1); /* only the load ahead: the page was still held */
    (void)fp_onenand_wait();
    /* A load ahead that failed is not read as if it had succeeded. */
    chip.next = WRONG;
    expect_page(fp_pager_page(14), 14);
    EXPECT_EQ(fp_onenand_peek(16 * 1024, word, 4), 0);
    EXPECT_EQ(word[0], chip_byte(place_of(16 * 1024), 0));
    EXPECT_EQ(fp_onenand_wait(), FP_PAGER_CORRUPT);
    expect_page(fp_pager_page(18), 18);
    expect_page(fp_pager_page(20), 20);
    chip.next = REFUSED;
    chip.for_ever = true;
    EXPECT_EQ(fp_onenand_peek(200 * 1024, word, 4), FP_PAGER_IO);
    chip.next = NONE;
    chip.for_ever = false;
    expect_page(fp_pager_page(22), 22);
    EXPECT_EQ(fp_pager_stat()->retries, 1);
    EXPECT_EQ(fp_onenand_why(), FP_ONENAND_LOST);
}

/* Chips that are not those of the design. */
static void others(void)
{
    chip_reset(1);
    chip.buffer_bytes = 1024;
    EXPECT_EQ(fp_onenand_start(), FP_PAGER_IO);
    EXPECT_EQ(fp_onenand_why(), FP_ONENAND_OTHER);
    chip.buffer_bytes = 2048;
    chip.buffers = 0x0101u;
    EXPECT_EQ(fp_onenand_start(), FP_PAGER_IO);
    chip.buffers = 0x0201u;
    chip.maker = chip.device = 0;
    EXPECT_EQ(fp_onenand_start(), FP_PAGER_IO);
    EXPECT_EQ(fp_onenand_why(), FP_ONENAND_OTHER);
    chip.maker = 0xec;
    chip.device = 0x10;
    EXPECT_EQ(fp_onenand_start(), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_onenand_why(), FP_ONENAND_BEYOND);
}
