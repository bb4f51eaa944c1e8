/*
 * The driver of an SPI NOR in front of an emulated chip, of the kind that the including file defines
 *
 * The chip stops at illegal use: a command that it does not know or of another length, and a read outside
 * the image. The bus may fail; the chip may be asleep, another one or gone.
 */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_FRAMES 7
#define FP_PAGER_PAGE_BYTES 64
#define FP_SPI_NOR_POLLS 20
#include "../pager/pager.c"

#include "../pager/spi_nor/spi_nor.c"

#include "pager_reads.h"

#define WHOLE_PAGES_BYTES (FP_PAGER_PAGES * FP_PAGER_PAGE_BYTES)

static struct {
    uint64_t random;
    unsigned often; /* transfers of 4096 on which the bus fails, and of as many that put it to sleep */
    bool is_asleep;
    unsigned waking; /* transfers until a chip that was woken answers */
    enum line line;
    uint8_t id[3];
    uint32_t reads, bytes;
} chip;

static void read_bytes(const uint8_t *command, uint8_t *to, uint_fast16_t size)
{
    uint32_t address = 0;
    for (unsigned i = 1; i <= FP_SPI_NOR_ADDRESS_BYTES; i++)
        address = address << 8 | command[i];
    address -= FP_SPI_NOR_FIRST_BYTE;
    EXPECT(address < WHOLE_PAGES_BYTES && size <= WHOLE_PAGES_BYTES - address);
    for (uint32_t i = 0; i < size; i++)
        to[i] = image_byte(address + i);
    chip.reads++;
    chip.bytes += (uint32_t)size;
}

static void obey(const uint8_t *command, uint_fast8_t command_size, uint8_t *to, uint_fast16_t size)
{
    if (command[0] == 0xab) {
        EXPECT(command_size == 1 && !size);
        if (chip.is_asleep)
            chip.waking = random_below(&chip.random, FP_SPI_NOR_POLLS);
        chip.is_asleep = false;
    } else if (chip.is_asleep || chip.waking) {
        chip.waking -= chip.waking > 0;
        /* It answers nothing, and the line floats. */
        if (size)
            memset(to, random_below(&chip.random, 2) ? 0xff : 0, size);
    } else if (command[0] == 0x9f) {
        EXPECT(FP_SPI_NOR_ID && command_size == 1 && size == sizeof(chip.id));
        memcpy(to, chip.id, size);
    } else {
        EXPECT_EQ(command[0], FP_SPI_NOR_READ);
        EXPECT_EQ(command_size, 1 + FP_SPI_NOR_ADDRESS_BYTES + FP_SPI_NOR_DUMMY_BYTES);
        read_bytes(command, to, size);
    }
}

FP_PAGER_API int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                                 uint_fast16_t size)
{
    if (FP_SPI_NOR_ID && random_below(&chip.random, 4096) < chip.often)
        chip.is_asleep = true;
    if (chip.line != DRIVEN) {
        if (size)
            memset(to, chip.line == LOW ? 0 : 0xff, size);
        return 0;
    }
    if (random_below(&chip.random, 4096) < chip.often) {
        /* Some bytes may have come, or none. */
        obey(command, command_size, to, size);
        if (size)
            to[random_below(&chip.random, (uint32_t)size)] ^= 1;
        return -1;
    }
    obey(command, command_size, to, size);
    return 0;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES && error == FP_PAGER_IO);
    EXPECT(fp_spi_nor_stat()->failure != FP_SPI_NOR_FINE);
    (void)fp_spi_nor_start();
    return error;
}

/* A good chip, started, with the pager started, too. */
static void begin(uint64_t seed)
{
    memset(&chip, 0, sizeof(chip));
    memset(&spi_nor, 0, sizeof(spi_nor));
    chip.random = seed;
    chip.is_asleep = FP_SPI_NOR_ID != 0;
    for (unsigned i = 0; i < sizeof(chip.id); i++)
        chip.id[i] = (uint8_t)((uint32_t)FP_SPI_NOR_ID >> (16 - 8 * i));
    EXPECT_EQ(fp_spi_nor_start(), FP_PAGER_OK);
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
}

/* Reads at random, as compare_reads() does. */
static unsigned read_at_random(unsigned reads)
{
    return compare_reads(&chip.random, reads, 300);
}

/* With any troubles that the chip shows, every byte is right or the read fails. */
static void fuzz(void)
{
    const uint32_t rounds = test_rounds(400);
    uint32_t failed = 0;
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        begin(seed);
        EXPECT_EQ(read_at_random(50), 0);
        chip.often = 1 + random_below(&chip.random, 1024);
        failed += read_at_random(100);
        chip.often = 0;
        (void)fp_spi_nor_start();
        EXPECT_EQ(read_at_random(20), 0);
    }
    EXPECT(failed > rounds / 4);
}

/* One read command for each miss, and no byte beside the page. */
static void transfers(void)
{
    begin(1);
    EXPECT_EQ(read_at_random(500), 0);
    EXPECT_EQ(chip.reads, fp_pager_stat()->misses);
    EXPECT_EQ(chip.bytes, fp_pager_stat()->misses * FP_PAGER_PAGE_BYTES);
    EXPECT_EQ(chip.bytes, fp_pager_stat()->bytes_fetched);
    EXPECT_EQ(fp_spi_nor_stat()->failures, 0);
}

/* A chip that is absent, another one, or asleep: an error, and no byte. */
static void absence(void)
{
    uint8_t byte = 77;
    for (enum line line = LOW; FP_SPI_NOR_ID && line <= HIGH; line++) {
        begin(line);
        chip.line = line;
        EXPECT_EQ(fp_pager_read(900, &byte, 1), FP_PAGER_IO);
        EXPECT_EQ(fp_spi_nor_stat()->failure, FP_SPI_NOR_OTHER);
        EXPECT_EQ(fp_spi_nor_stat()->failures, 1 + FP_PAGER_RETRIES);
        EXPECT_EQ(fp_spi_nor_start(), FP_PAGER_IO);
        chip.line = DRIVEN;
        EXPECT_EQ(fp_spi_nor_start(), FP_PAGER_OK);
        EXPECT_EQ(read_at_random(20), 0);
    }
    for (unsigned bit = 0; FP_SPI_NOR_ID && bit < 24; bit++) {
        begin(bit);
        chip.id[bit / 8] ^= (uint8_t)(1u << bit % 8);
        EXPECT_EQ(fp_spi_nor_start(), FP_PAGER_IO);
        EXPECT_EQ(fp_spi_nor_stat()->failure, FP_SPI_NOR_OTHER);
    }
    begin(99);
    chip.is_asleep = FP_SPI_NOR_ID != 0;
    EXPECT_EQ(fp_pager_read(900, &byte, 1), FP_SPI_NOR_ID ? FP_PAGER_IO : FP_PAGER_OK);
    /* fp_flash_failed() has woken it. */
    EXPECT_EQ(fp_pager_read(900, &byte, 1), FP_PAGER_OK);
    EXPECT_EQ(byte, image_byte(900));
}
