/*
 * SD cards by SPI: the pager's port to such a card
 *
 * The port is for cards in SPI mode: SD 1, SD 2, SDHC and SDXC. A card is read in blocks of 512 bytes, each
 * with a CRC behind it, and no byte is used before that was compared. So a cache page is one block or several,
 * and a flash page is a cache page:
 *
 *     #define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
 *     #define FP_PAGER_PAGE_BYTES 512                // or 1024 …
 *     #define FP_PAGER_FLASH_PAGE_BYTES FP_PAGER_PAGE_BYTES
 *     #define FP_SD_FIRST_BLOCK 2048                 // the card's block where the image begins
 *
 * Compile sd_spi.c with the same design as the pager, or include it behind pager.c. You write the three
 * functions of the bus below, and fp_flash_failed() of the pager. Then:
 *
 *     if (fp_sd_start() < 0) ...                     // fp_sd_stat() has the reason
 *     if (fp_pager_start() < 0) ...
 *
 * Failures. All are FP_PAGER_IO: a bus that reports an error; a card that is silent for FP_SD_POLLS bytes,
 * refuses a command or reports an error; and a block whose CRC differs. The pager tries again. Call
 * fp_sd_start() before you go on, for example in fp_flash_failed(): a card that was taken out and put back
 * has lost its mode.
 *
 * Writing. Who writes to the card, such as a file system, does so between two calls of the pager.
 */
#ifndef FLASHPAGER_SD_SPI_H
#define FLASHPAGER_SD_SPI_H

#include "../flashpager_pager.h"

#ifndef FP_SD_FIRST_BLOCK
#define FP_SD_FIRST_BLOCK 0 /* the card's block that is the first one of the image */
#endif
#ifndef FP_SD_POLLS
#define FP_SD_POLLS 400000l /* bytes to wait for a block: a card may take 100 ms, 312,500 bytes at 25 MHz */
#endif
#ifndef FP_SD_YIELD
#define FP_SD_YIELD() ((void)0) /* between polls: lets other tasks run, which do not use this bus */
#endif

#if FP_PAGER_PAGE_BYTES % 512 || FP_PAGER_FLASH_PAGE_BYTES != FP_PAGER_PAGE_BYTES
#error "a card is read in blocks: take cache pages of 512 bytes or more, and flash pages of the same size"
#endif
#if FP_PAGER_REGISTER != FP_PAGER_START_COLUMN
#error "a card has no register that is read in pieces: take FP_PAGER_START_COLUMN"
#endif
#if FP_PAGER_TAG_BYTES || FP_PAGER_BAD_BLOCKS
#error "tags and bad blocks are those of a NAND, which has spare areas"
#endif

/* The reason of a failure. */
enum fp_sd_failure {
    FP_SD_FINE,
    FP_SD_BUS,     /* fp_sd_exchange() has failed */
    FP_SD_SILENT,  /* no answer: no card, or one that hangs */
    FP_SD_REFUSED, /* a command, or an error of the card */
    FP_SD_CRC,     /* the bytes of a block are not those that were sent */
};

struct fp_sd_stat {
    enum fp_sd_failure failure; /* of the last load or fetch, or of the start */
    uint32_t failures;          /* loads and fetches that failed */
    uint32_t blocks;            /* that were read and are right */
};

/* Brings a card into SPI mode and readies it. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_sd_start(void);

/* Returns the counts since the program began. */
FP_PAGER_API const struct fp_sd_stat *fp_sd_stat(void);

/* The bus, three functions that you write. The first drives the card's chip select: 1 selects it. */
FP_PAGER_API void fp_sd_select(uint_fast8_t is_selected);

/* Sets the clock: 0 for 100 to 400 kHz, while the card starts; 1 for up to 25 MHz. */
FP_PAGER_API void fp_sd_clock(uint_fast8_t is_fast);

/* Sends bytes, FFh each if `sent` is NULL, and receives as many, unless `got` is NULL. Returns 0, or another
 * number if the bus has failed. */
FP_PAGER_API int fp_sd_exchange(const uint8_t *sent, uint8_t *got, uint_fast16_t size);

#endif
