/*
 * The driver of an SPI NAND in front of an emulated chip, with the kind of ECC of the including file
 *
 * The chip stops at illegal use: a command that it does not know, a load while it is busy, a read of a
 * register that holds nothing, of the wrong plane, or behind the spare area. A load may be corrected in any
 * way, be wrong or never end, the bus may fail, and the chip may go.
 */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 256
#define FP_PAGER_FLASH_PAGE_BYTES 2048
/* More than three blocks. */
#define FP_PAGER_IMAGE_BYTES 450001
#define FP_SPI_NAND_POLLS 60
#define FP_SPI_NAND_FIRST_PAGE 64000
#include "../pager/pager.c"

#include "../pager/spi_nand/spi_nand.c"

#include "pager_reads.h"

#define SPARE_BYTES 64u
#define BLOCKS (4u + FP_PAGER_BAD_BLOCKS)
#define FIRST_BLOCK (FP_SPI_NAND_FIRST_PAGE / FP_PAGER_BLOCK_PAGES)

static struct {
    uint64_t random;
    unsigned often;    /* loads of 256 with any code, and commands of 4096 on which the bus fails */
    int next;          /* the code of the next load, or -1 */
    bool is_silent;    /* loads do not end */
    enum line line;
    uint8_t config, id[3];
    uint32_t page;     /* UINT32_MAX: the register holds nothing */
    unsigned left, code;
    uint32_t bad_block, bad_page; /* with the maker's mark */
    uint32_t loads, corrected, limit, yields, asked;
    bool is_wrong;     /* the page that is held was not corrected */
} chip;

static uint8_t chip_byte(uint32_t column)
{
    const uint32_t row = chip.page - FP_SPI_NAND_FIRST_PAGE, block = row / FP_PAGER_BLOCK_PAGES;
    if (column >= FP_PAGER_FLASH_PAGE_BYTES)
        return block == chip.bad_block && row % FP_PAGER_BLOCK_PAGES == chip.bad_page ? 0 : 0xff;
    return (uint8_t)(chip.is_wrong ^ image_byte((row - (block > chip.bad_block ? FP_PAGER_BLOCK_PAGES : 0)) *
                                                    FP_PAGER_FLASH_PAGE_BYTES + column));
}

static bool is_corrected(unsigned code)
{
    return code == 1 || (code == 3 && FP_SPI_NAND_ECC != FP_SPI_NAND_ECC_1) ||
           (code == 5 && FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1_3_5);
}

static void load(uint32_t row)
{
    const unsigned codes = FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1_3_5 ? 8 : 4;
    EXPECT(!chip.left && row - FP_SPI_NAND_FIRST_PAGE < BLOCKS * FP_PAGER_BLOCK_PAGES);
    chip.page = row;
    chip.code = 0;
    if (random_below(&chip.random, 256) < chip.often)
        chip.code = random_below(&chip.random, codes);
    if (chip.next >= 0)
        chip.code = (unsigned)chip.next;
    chip.next = -1;
    chip.is_wrong = chip.code && !is_corrected(chip.code);
    chip.loads++;
    chip.left = 1 + random_below(&chip.random, 40);
}

static uint8_t feature(uint8_t address)
{
    if (address == 0xb0)
        return chip.config;
    EXPECT_EQ(address, 0xc0);
    if (chip.left && !chip.is_silent)
        chip.left--;
    /* Other bits are set at random where the ECC has none: those of a program and an erase that failed. */
    return (uint8_t)(chip.code << 4 | (random_below(&chip.random, 4) << 2) | (chip.left != 0) |
                     (FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1_3_5 ? 0 : random_below(&chip.random, 2) << 6));
}

static void read_bytes(const uint8_t *command, uint8_t *to, uint_fast16_t size)
{
    const uint32_t column = (uint32_t)(command[1] << 8 | command[2]);
    const uint32_t plane = FP_SPI_NAND_PLANES == 2 ? chip.page / FP_PAGER_BLOCK_PAGES % 2 : 0;
    EXPECT(!chip.left && chip.page != UINT32_MAX && column >> 12 == plane);
    EXPECT((column & 0xfff) + size <= FP_PAGER_FLASH_PAGE_BYTES + SPARE_BYTES);
    for (uint32_t i = 0; i < size; i++)
        to[i] = chip_byte((column & 0xfff) + i);
}

static int obey(const uint8_t *command, uint_fast8_t command_size, uint8_t *to, uint_fast16_t size)
{
    switch (command[0] << 8 | (int)command_size) {
    case 0xff01:
        EXPECT(!size);
        chip.config = 0x40; /* a chip whose ECC is off by default */
        chip.page = UINT32_MAX;
        chip.left = 1 + random_below(&chip.random, 40);
        chip.code = 0;
        return 0;
    case 0x9f02:
        EXPECT(!chip.left && command[1] == 0 && size <= sizeof(chip.id));
        memcpy(to, chip.id, size);
        return 0;
    case 0x0f02:
        EXPECT_EQ(size, 1);
        *to = feature(command[1]);
        return 0;
    case 0x1f03:
        EXPECT(!chip.left && !size && command[1] == 0xb0);
        chip.config = command[2];
        return 0;
    case 0x1304:
        EXPECT(!size);
        load((uint32_t)command[1] << 16 | (uint32_t)command[2] << 8 | command[3]);
        return 0;
    case 0x0304:
        read_bytes(command, to, size);
        return 0;
    default:
        FAIL("unknown command %02x of %u bytes", command[0], (unsigned)command_size);
    }
}

FP_PAGER_API int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                                 uint_fast16_t size)
{
    if (chip.line != DRIVEN) {
        if (size)
            memset(to, chip.line == LOW ? 0 : 0xff, size);
        return 0;
    }
    if (random_below(&chip.random, 4096) < chip.often) {
        /* The chip may have got the command, or not. */
        if (random_below(&chip.random, 2))
            (void)obey(command, command_size, to, size);
        return -1;
    }
    return obey(command, command_size, to, size);
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES && (error == FP_PAGER_IO || error == FP_PAGER_CORRUPT));
    EXPECT_EQ(error == FP_PAGER_CORRUPT, fp_spi_nand_stat()->failure == FP_SPI_NAND_CORRUPT);
    chip.asked++;
    return error;
}

/* A good chip, started, with the pager started, too. */
static void begin(uint64_t seed)
{
    const uint32_t id = FP_SPI_NAND_ID > 0xffff ? FP_SPI_NAND_ID : FP_SPI_NAND_ID * 256l;
    memset(&chip, 0, sizeof(chip));
    memset(&spi_nand, 0, sizeof(spi_nand));
    chip.random = seed;
    chip.next = -1;
    chip.page = UINT32_MAX;
    chip.bad_block = FP_PAGER_BAD_BLOCKS ? random_below(&chip.random, 4) : UINT32_MAX - 1;
    chip.bad_page = random_below(&chip.random, 2);
    for (unsigned i = 0; i < sizeof(chip.id); i++)
        chip.id[i] = (uint8_t)(id >> (16 - 8 * i));
    EXPECT_EQ(fp_spi_nand_start(), FP_PAGER_OK);
    EXPECT_EQ(chip.config & (0x50 | FP_SPI_NAND_CONFIG), 0x10 | FP_SPI_NAND_CONFIG);
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
}

/* Reads at random, as compare_reads() does. */
static unsigned read_at_random(unsigned reads)
{
    return compare_reads(&chip.random, reads, 600);
}

/* With any troubles, every byte is right or the read fails. */
static void fuzz(void)
{
    const uint32_t rounds = test_rounds(400);
    uint32_t corrected = 0, failed = 0;
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        begin(seed);
        EXPECT_EQ(read_at_random(50), 0);
        chip.often = 1 + random_below(&chip.random, 256);
        failed += read_at_random(100);
        corrected += fp_spi_nand_stat()->corrected;
        chip.often = 0;
        EXPECT_EQ(read_at_random(20), 0);
    }
    EXPECT(corrected > rounds && failed > rounds / 4);
}

/* Each code of the status, by the table in the header. */
static void codes(void)
{
    for (unsigned code = 0; code < (FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1_3_5 ? 8 : 4); code++) {
        const bool is_limit = is_corrected(code) && code > 1;
        uint8_t byte;
        uint32_t loads;
        begin(code);
        chip.next = (int)code;
        loads = chip.loads;
        /* A page that was not corrected is loaded once more, and is right then. */
        EXPECT_EQ(fp_pager_read(5000, &byte, 1), FP_PAGER_OK);
        EXPECT_EQ(byte, image_byte(5000));
        EXPECT_EQ(chip.loads - loads, code && !is_corrected(code) ? 2 : 1);
        EXPECT_EQ(fp_spi_nand_stat()->corrected, is_corrected(code));
        EXPECT_EQ(fp_spi_nand_stat()->limit, is_limit);
        EXPECT_EQ(fp_spi_nand_stat()->limit_page, is_limit ? chip.page : 0);
    }
}

/* A chip that is absent, another one, silent, or gone: an error, and no byte. */
static void absence(void)
{
    uint8_t byte = 77;
    for (enum line line = LOW; line <= HIGH; line++) {
        begin(line);
        EXPECT_EQ(fp_pager_read(9, &byte, 1), FP_PAGER_OK);
        chip.line = line;
        /* From the page that is held, from another one, and at a start. */
        EXPECT_EQ(fp_pager_read(300, &byte, 1), FP_PAGER_IO);
        EXPECT_EQ(fp_pager_read(9000, &byte, 1), FP_PAGER_IO);
        EXPECT_EQ(fp_spi_nand_stat()->failure, line == LOW ? FP_SPI_NAND_NO_ECC : FP_SPI_NAND_SILENT);
        EXPECT_EQ(fp_spi_nand_start(), FP_PAGER_IO);
        EXPECT_EQ(fp_spi_nand_stat()->failure, line == LOW ? FP_SPI_NAND_OTHER : FP_SPI_NAND_SILENT);
        chip.line = DRIVEN;
        EXPECT_EQ(fp_spi_nand_start(), FP_PAGER_OK);
        EXPECT_EQ(read_at_random(20), 0);
    }
    begin(3);
    chip.id[1] ^= 1;
    EXPECT_EQ(fp_spi_nand_start(), FP_PAGER_IO);
    EXPECT_EQ(fp_spi_nand_stat()->failure, FP_SPI_NAND_OTHER);
    begin(4);
    chip.is_silent = true;
    EXPECT_EQ(fp_pager_read(9000, &byte, 1), FP_PAGER_IO);
    EXPECT_EQ(fp_spi_nand_stat()->failure, FP_SPI_NAND_SILENT);
    chip.is_silent = false;
    EXPECT_EQ(fp_spi_nand_start(), FP_PAGER_OK);
    /* The ECC is off after the chip was reset by itself. */
    chip.config = 0;
    EXPECT_EQ(fp_pager_read(20000, &byte, 1), FP_PAGER_IO);
    EXPECT_EQ(fp_spi_nand_stat()->failure, FP_SPI_NAND_NO_ECC);
}
