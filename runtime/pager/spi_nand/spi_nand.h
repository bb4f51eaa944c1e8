/*
 * SPI NAND: the pager's port to such a chip
 *
 * The port is for chips with a register of one page, an ECC of their own, and read commands 13h and 03h: all
 * that the catalogue of flashpager calls serial NAND, but those that address their register with 3 bytes.
 * Compile spi_nand.c with the same design as the pager, or include it behind pager.c. The design also
 * defines:
 *
 *     #define FP_SPI_NAND_ID 0xefaa21                // READ ID: maker and device, 2 or 3 bytes
 *     #define FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1      // what its status says: see below
 *     #define FP_SPI_NAND_CONFIG 0x08                // W25N: buffer mode
 *
 * You write fp_spi_transfer(), and fp_flash_failed() of the pager. Then:
 *
 *     if (fp_spi_nand_start() < 0) ...               // fp_spi_nand_stat() has the reason
 *     if (fp_pager_start() < 0) ...
 *
 * ECC. Two or three bits of the status say whether a page was corrected. Their codes differ:
 *
 *     FP_SPI_NAND_ECC_1      1 corrected                       W25N512G, W25N01G, MX35LF, GD5F GQ5 and GQ6
 *     FP_SPI_NAND_ECC_1_3    1 corrected, 3 at the limit       W25N KV, GD5F GQ4U and GM7, TC58CVG
 *     FP_SPI_NAND_ECC_1_3_5  1 corrected, 3 and 5 many bits    MT29F (3 bits)
 *
 * Compare your data sheet. Code 0 is a page without an error. Every other code is FP_PAGER_CORRUPT, also a
 * reserved one: a byte that nobody vouches for is not used. A corrected page is good. It is counted, and a
 * page that was at the limit is named: write it anew before it gets worse.
 *
 * Bad blocks. With FP_PAGER_BAD_BLOCKS, a block is bad if the first byte of the spare area of its first or
 * second page is not FFh.
 *
 * Failures. These are FP_PAGER_IO: a bus that reports an error; a chip that stays busy for
 * FP_SPI_NAND_POLLS polls; and one whose ECC is off behind the bytes that it gave. The last two find a chip
 * that is gone, whether its line is high or low then. Call fp_spi_nand_start() again before you go on, for
 * example in fp_flash_failed(). A chip that is reset by itself, as by a drop of its supply, loses its page
 * without a sign if its ECC is on by default: reset the pager with it.
 */
#ifndef FLASHPAGER_SPI_NAND_H
#define FLASHPAGER_SPI_NAND_H

#include "../flashpager_pager.h"

/* The codes of the status: see above. */
#define FP_SPI_NAND_ECC_1 1
#define FP_SPI_NAND_ECC_1_3 2
#define FP_SPI_NAND_ECC_1_3_5 3

#ifndef FP_SPI_NAND_CONFIG
#define FP_SPI_NAND_CONFIG 0 /* bits of the register B0h that are set besides that of the ECC */
#endif
#ifndef FP_SPI_NAND_FIRST_PAGE
#define FP_SPI_NAND_FIRST_PAGE 0 /* the chip's page that is the first one of the image */
#endif
#ifndef FP_SPI_NAND_PLANES
#define FP_SPI_NAND_PLANES 1 /* 2: the column has a bit for blocks with odd numbers, as in MT29F2G01 */
#endif
#ifndef FP_SPI_NAND_POLLS
#define FP_SPI_NAND_POLLS 10000 /* polls of the chip before it counts as silent: longer than any load */
#endif
#ifndef FP_SPI_NAND_YIELD
#define FP_SPI_NAND_YIELD() ((void)0) /* between polls: lets other tasks run */
#endif

#if !defined(FP_SPI_NAND_ID) || !defined(FP_SPI_NAND_ECC)
#error "define FP_SPI_NAND_ID and FP_SPI_NAND_ECC by the data sheet of the chip"
#endif
#if FP_SPI_NAND_ECC < FP_SPI_NAND_ECC_1 || FP_SPI_NAND_ECC > FP_SPI_NAND_ECC_1_3_5
#error "FP_SPI_NAND_ECC is none of the three"
#endif
#if FP_SPI_NAND_PLANES != 1 && FP_SPI_NAND_PLANES != 2
#error "FP_SPI_NAND_PLANES is 1 or 2"
#endif
#if FP_SPI_NAND_FIRST_PAGE % FP_PAGER_BLOCK_PAGES
#error "FP_SPI_NAND_FIRST_PAGE is the first page of a block"
#endif
#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
#error "an SPI NAND has one register: take FP_PAGER_RANDOM_COLUMN"
#endif

/* The reason of a failure. */
enum fp_spi_nand_failure {
    FP_SPI_NAND_FINE,
    FP_SPI_NAND_BUS,     /* fp_spi_transfer() has failed */
    FP_SPI_NAND_SILENT,  /* the chip stayed busy, or there is none */
    FP_SPI_NAND_OTHER,   /* a chip with another ID */
    FP_SPI_NAND_NO_ECC,  /* its ECC is off, or the chip is gone */
    FP_SPI_NAND_CORRUPT, /* its ECC could not correct a page */
};

struct fp_spi_nand_stat {
    enum fp_spi_nand_failure failure; /* of the last load or fetch, or of the start */
    uint32_t corrected;               /* loads in which bits were corrected */
    uint32_t limit;                   /* part of them: as many bits as the ECC can, or nearly */
    uint32_t limit_page;              /* the chip's page of the last of these */
};

/* Resets the chip, compares its ID, and turns on its ECC. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_spi_nand_start(void);

/* Returns the counts since the first start. */
FP_PAGER_API const struct fp_spi_nand_stat *fp_spi_nand_stat(void);

/* A function that you write: selects the chip, sends the bytes of a command, receives `size` bytes (maybe
 * none), and deselects it. Returns 0, or another number if the bus has failed. */
FP_PAGER_API int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                                 uint_fast16_t size);

#endif
