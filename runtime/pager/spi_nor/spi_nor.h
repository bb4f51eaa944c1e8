/*
 * SPI NOR: the pager's port to flash that is read at any address
 *
 * The port is for serial NOR, FRAM and MRAM on a bus that does not map them. There is nothing to load: a fetch
 * is a read command with an address. Compile spi_nor.c with the same design as the pager, or include it behind
 * pager.c. `flashpager deploy --part W25Q128JV` writes such a design: its flash pages are as large as its
 * cache pages. The design also defines:
 *
 *     #define FP_SPI_NOR_ID 0xef4018                 // READ ID: maker and device, 3 bytes
 *
 * You write fp_spi_transfer(), and fp_flash_failed() of the pager. Then:
 *
 *     if (fp_spi_nor_start() < 0) ...                // fp_spi_nor_stat() has the reason
 *     if (fp_pager_start() < 0) ...
 *
 * The chip. The defaults are those of a serial NOR up to 16 MiB: fast read 0Bh, an address of 3 bytes, one
 * byte of dummies. For a larger one define FP_SPI_NOR_READ 0x0c and FP_SPI_NOR_ADDRESS_BYTES 4, for an FRAM or
 * MRAM of 32 KiB FP_SPI_NOR_READ 0x03 and FP_SPI_NOR_ADDRESS_BYTES 2.
 *
 * Failures. The line of a flash that is gone or asleep gives bytes like any others. So the port reads the ID
 * behind each fetch, 32 clocks: another answer is FP_PAGER_IO, and the pager tries again. Call
 * fp_spi_nor_start() before you go on, for example in fp_flash_failed(): it also wakes the chip. A chip
 * without an ID, as many MRAMs are, defines FP_SPI_NOR_ID 0: it is neither woken nor checked.
 *
 * Writing. While the chip erases or programs it gives no data, and may be ready again before its ID is read.
 * So keep the pager from it until it is ready.
 */
#ifndef FLASHPAGER_SPI_NOR_H
#define FLASHPAGER_SPI_NOR_H

#include "../flashpager_pager.h"

#ifndef FP_SPI_NOR_ID
#error "define FP_SPI_NOR_ID by the data sheet of the chip; 0 if it has none"
#endif
#ifndef FP_SPI_NOR_READ
#define FP_SPI_NOR_READ 0x0b /* the command of a read */
#endif
#ifndef FP_SPI_NOR_ADDRESS_BYTES
#define FP_SPI_NOR_ADDRESS_BYTES 3 /* of that command: 2 to 4 */
#endif
#ifndef FP_SPI_NOR_DUMMY_BYTES
/* Bytes between the address and the data: the reads 03h and 13h have none. */
#define FP_SPI_NOR_DUMMY_BYTES (FP_SPI_NOR_READ == 0x03 || FP_SPI_NOR_READ == 0x13 ? 0 : 1)
#endif
#ifndef FP_SPI_NOR_POLLS
#define FP_SPI_NOR_POLLS 1000 /* reads of the ID while a chip wakes: more than 35 us at any clock */
#endif
#ifndef FP_SPI_NOR_FIRST_BYTE
#define FP_SPI_NOR_FIRST_BYTE 0 /* the chip's address of the image */
#endif

#if FP_SPI_NOR_POLLS < 1 || FP_SPI_NOR_POLLS > 65535
#error "FP_SPI_NOR_POLLS is from 1 to 65535"
#endif
#if FP_SPI_NOR_ADDRESS_BYTES < 2 || FP_SPI_NOR_ADDRESS_BYTES > 4
#error "FP_SPI_NOR_ADDRESS_BYTES is from 2 to 4"
#endif
#if FP_PAGER_HEADER
#define FP_SPI_NOR_HEADER_BYTES (FP_PAGER_HEADER_PAGES * FP_PAGER_FLASH_PAGE_BYTES)
#else
#define FP_SPI_NOR_HEADER_BYTES 0
#endif
#if FP_SPI_NOR_ADDRESS_BYTES < 4 &&                                                              \
    (FP_SPI_NOR_FIRST_BYTE + FP_SPI_NOR_HEADER_BYTES + FP_PAGER_IMAGE_BYTES - 1) >>              \
        8 * FP_SPI_NOR_ADDRESS_BYTES
#error "the image ends behind what FP_SPI_NOR_ADDRESS_BYTES reach"
#endif
#if FP_PAGER_SLOTS && FP_SPI_NOR_ADDRESS_BYTES < 4
#define FP_SPI_NOR_SLOT_END_(first_block)                                                        \
    (FP_SPI_NOR_FIRST_BYTE +                                                                     \
     ((first_block) + FP_SLOTS_BLOCKS) * FP_PAGER_BLOCK_PAGES * FP_PAGER_FLASH_PAGE_BYTES)
#if (FP_SPI_NOR_SLOT_END_(FP_SLOTS_A) - 1) >> 8 * FP_SPI_NOR_ADDRESS_BYTES ||                    \
    (FP_SPI_NOR_SLOT_END_(FP_SLOTS_B) - 1) >> 8 * FP_SPI_NOR_ADDRESS_BYTES
#error "a slot ends behind what FP_SPI_NOR_ADDRESS_BYTES reach"
#endif
#endif
#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
#error "an SPI NOR has no buffers: take FP_PAGER_START_COLUMN"
#endif
#if FP_PAGER_STORE != FP_PAGER_STORE_PLAIN
#error "homes are for chips that load pages; an SPI NOR reads any address"
#endif
#if FP_PAGER_TAG_BYTES || FP_PAGER_BAD_BLOCKS
#error "tags and bad blocks are those of a NAND, which has spare areas"
#endif

/* The reason of a failure. */
enum fp_spi_nor_failure {
    FP_SPI_NOR_FINE,
    FP_SPI_NOR_BUS,   /* fp_spi_transfer() has failed */
    FP_SPI_NOR_OTHER, /* another ID: another chip, none, or one that is asleep */
};

struct fp_spi_nor_stat {
    enum fp_spi_nor_failure failure; /* of the last fetch, or of the start */
    uint32_t failures;               /* fetches that failed */
};

/* Wakes the chip and compares its ID, until it answers. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_spi_nor_start(void);

/* Returns the counts since the program began. */
FP_PAGER_API const struct fp_spi_nor_stat *fp_spi_nor_stat(void);

/* A function that you write: selects the chip, sends the bytes of a command, receives `size` bytes (maybe
 * none), and deselects it. Returns 0, or another number if the bus has failed. */
FP_PAGER_API int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                                 uint_fast16_t size);

#endif
