/*
 * OneNAND: the pager's port to such a chip
 *
 * A OneNAND is NAND behind 16-bit registers and two buffers of one flash page each, which a host reads
 * like RAM. The chip itself corrects the pages that it loads. The port is for chips with pages of 1 or 2
 * KB, and of one die or two. Compile onenand.c with the same design as the pager, or include it behind
 * pager.c. The design also defines:
 *
 *     #define FP_ONENAND_BASE 0x04000000     // the address of the chip: its word n is at 2n behind it
 *
 * Then:
 *
 *     if (fp_onenand_start() < 0) ...        // fp_onenand_why() has the reason
 *     if (fp_pager_start() < 0) ...
 *
 * The port has fp_flash_load(), fp_flash_wait() and all other functions of the pager's port but
 * fp_flash_failed(), which you write. They use the functions below, which load sectors.
 *
 * Locks. At power up all blocks are locked against programming and erasing, which does not concern
 * loads. The port unlocks nothing, so that a faulty program cannot write.
 *
 * Interrupts. With FP_ONENAND_INTERRUPT the chip is not polled: call fp_onenand_interrupt() when its INT
 * pin is high, and write fp_onenand_sleep().
 *
 * Failures. FP_PAGER_IO and FP_PAGER_CORRUPT have these reasons:
 *
 *     FP_ONENAND_SILENT    the chip was not ready in time; it has been reset
 *     FP_ONENAND_REFUSED   its controller reports an error
 *     FP_ONENAND_BEYOND    it has no such page; no command was sent
 *     FP_ONENAND_LOST      a buffer has lost its page, as fp_onenand_peek() failed
 *     FP_ONENAND_ECC       more than one wrong bit in a sector: FP_PAGER_CORRUPT, all others FP_PAGER_IO
 *
 * The pager tries again, and then calls fp_flash_failed(). Sectors in which a bit was corrected are
 * counted: copy their block before it gets worse.
 */
#ifndef FLASHPAGER_ONENAND_H
#define FLASHPAGER_ONENAND_H

#include "../flashpager_pager.h"

#ifndef FP_ONENAND_FIRST_PAGE
#define FP_ONENAND_FIRST_PAGE 0 /* the chip's page that is the first one of the image */
#endif
#ifndef FP_ONENAND_ASKED
#define FP_ONENAND_ASKED 1000000ul /* polls of the chip before it counts as silent */
#endif
#ifndef FP_ONENAND_INTERRUPT
#define FP_ONENAND_INTERRUPT 0 /* 1: its INT pin signals the end of a load */
#endif
#ifndef FP_ONENAND_READ
/* Read and write a word of the chip. You may define your own. */
#define FP_ONENAND_WORD(word) ((volatile uint16_t *)(uintptr_t)(FP_ONENAND_BASE + 2ul * (word)))
#define FP_ONENAND_READ(word) (*FP_ONENAND_WORD(word))
#define FP_ONENAND_WRITE(word, value) (*FP_ONENAND_WORD(word) = (uint16_t)(value))
#endif

#define FP_ONENAND_SECTOR_BYTES 512u
#define FP_ONENAND_SECTORS (FP_PAGER_FLASH_PAGE_BYTES / FP_ONENAND_SECTOR_BYTES)
#define FP_ONENAND_BLOCK_PAGES 64u

/* Words of the chip. */
#define FP_ONENAND_DATA 0x0200u   /* the buffers, one after another */
#define FP_ONENAND_SPARE 0x8010u  /* the spare areas of the pages in the buffers */
#define FP_ONENAND_MAKER 0xf000u
#define FP_ONENAND_DEVICE 0xf001u
#define FP_ONENAND_BUFFER_BYTES 0xf003u
#define FP_ONENAND_BUFFERS 0xf005u
#define FP_ONENAND_ADDRESS_1 0xf100u /* die and block */
#define FP_ONENAND_ADDRESS_2 0xf101u /* the die whose buffers and registers are visible */
#define FP_ONENAND_ADDRESS_8 0xf107u /* page and sector */
#define FP_ONENAND_START_BUFFER 0xf200u
#define FP_ONENAND_COMMAND 0xf220u
#define FP_ONENAND_CONFIG_1 0xf221u
#define FP_ONENAND_STATUS 0xf240u
#define FP_ONENAND_INTERRUPTS 0xf241u
#define FP_ONENAND_ECC_STATUS 0xff00u

/* Commands. */
#define FP_ONENAND_LOAD 0x00u
#define FP_ONENAND_LOAD_SPARE 0x13u
#define FP_ONENAND_RESET 0xf0u

/* The reason of a failure. */
enum fp_onenand_failure {
    FP_ONENAND_FINE,
    FP_ONENAND_SILENT,
    FP_ONENAND_REFUSED,
    FP_ONENAND_BEYOND,
    FP_ONENAND_LOST,
    FP_ONENAND_ECC,
    FP_ONENAND_OTHER, /* no OneNAND, or one whose pages or buffers are not the design's */
};

/* Identifies the chip and configures it. Returns FP_PAGER_OK; FP_PAGER_IO if it is not the chip of the
 * design; or FP_PAGER_OUTSIDE if it is too small for the image. */
FP_PAGER_API int fp_onenand_start(void);

/* Returns the reason of the last failure. */
FP_PAGER_API enum fp_onenand_failure fp_onenand_why(void);

/* Returns the number of sectors in which a bit was corrected since fp_onenand_start(). */
FP_PAGER_API uint32_t fp_onenand_corrected(void);

/* Begins to load sectors of a page of the chip into buffer 0 or 1, each at its offset in the page. An
 * earlier load must have been waited for. */
FP_PAGER_API void fp_onenand_load(uint32_t page, uint_fast8_t sector, uint_fast8_t sectors,
                                  uint_fast8_t buffer);

/* Returns 1 while the load goes on; then 0 or its error, at each call. */
FP_PAGER_API int fp_onenand_ask(void);

/* Waits until the load has ended. Returns 0 or its error. */
FP_PAGER_API int fp_onenand_wait(void);

/* Reads bytes of the image beside the pager's loads: afterwards the buffers hold the same pages again. The
 * bytes lie in one sector; their offset and number are even. Returns FP_PAGER_OK, FP_PAGER_IO or
 * FP_PAGER_CORRUPT. It serves the literals of mmu/arm926.c. */
FP_PAGER_API int fp_onenand_peek(uint32_t offset, uint8_t *to, uint_fast16_t size);

#if FP_ONENAND_INTERRUPT
/* Handles the interrupt of the INT pin. Afterwards the pin is low. */
FP_PAGER_API void fp_onenand_interrupt(void);

/* A function that you write: sleeps until an interrupt has come, if fp_onenand_ask() returns 1 with
 * interrupts off. Returns 0 if the load takes too long: the load then fails. */
FP_PAGER_API int fp_onenand_sleep(void);
#endif

#endif
