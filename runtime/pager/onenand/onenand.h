/*
 * OneNAND: the pager's port to such a chip
 *
 * A OneNAND is NAND behind 16-bit registers and two buffers of a flash page, which a host reads as it
 * reads RAM. It corrects what it loads itself. For chips with pages of 1 or 2 KB, of one die or two.
 * Compile onenand.c with the same design as the pager, or include it behind pager.c. The design says
 * besides:
 *
 *     #define FP_ONENAND_BASE 0x04000000     // where the chip is, its word n at 2n behind
 *
 * Then:
 *
 *     if (fp_onenand_start() < 0) ...        // fp_onenand_why() says what is wrong
 *     if (fp_pager_start() < 0) ...
 *
 * It has fp_flash_load(), fp_flash_wait() and what else the pager wants to have of a chip, and below
 * them a load of sectors that is started, asked for and waited for. fp_flash_failed() stays yours.
 *
 * Locks. At power up all blocks are locked: that keeps them from being programmed and erased, and a
 * load does not care. So nothing is unlocked here, and a program that goes astray cannot write.
 *
 * Interrupts. With FP_ONENAND_INTERRUPT as 1 nobody asks the chip whether it is done: call
 * fp_onenand_interrupt() when its INT pin is high, and write fp_onenand_sleep().
 *
 * Failures. What FP_PAGER_IO and FP_PAGER_CORRUPT come from:
 *
 *     FP_ONENAND_SILENT    the chip is not done in time; it has been reset
 *     FP_ONENAND_REFUSED   its controller tells an error
 *     FP_ONENAND_BEYOND    it has no such page; it was not asked for it
 *     FP_ONENAND_LOST      a buffer has not what was loaded into it, as fp_onenand_peek() failed
 *     FP_ONENAND_ECC       over one wrong bit in a sector: FP_PAGER_CORRUPT, all others FP_PAGER_IO
 *
 * The pager tries again, and then asks fp_flash_failed(). A sector in which a bit was corrected is
 * counted: copy its block before it becomes worse.
 */
#ifndef FLASHPAGER_ONENAND_H
#define FLASHPAGER_ONENAND_H

#include "../flashpager_pager.h"

#ifndef FP_ONENAND_FIRST_PAGE
#define FP_ONENAND_FIRST_PAGE 0 /* the image's first flash page, in the chip */
#endif
#ifndef FP_ONENAND_ASKED
#define FP_ONENAND_ASKED 1000000ul /* how often the chip is asked for what it does until it is silent */
#endif
#ifndef FP_ONENAND_INTERRUPT
#define FP_ONENAND_INTERRUPT 0 /* 1: its INT pin tells that it is done */
#endif
#ifndef FP_ONENAND_READ
/* May be your own: read and write a word of the chip. */
#define FP_ONENAND_WORD(word) ((volatile uint16_t *)(uintptr_t)(FP_ONENAND_BASE + 2ul * (word)))
#define FP_ONENAND_READ(word) (*FP_ONENAND_WORD(word))
#define FP_ONENAND_WRITE(word, value) (*FP_ONENAND_WORD(word) = (uint16_t)(value))
#endif

#define FP_ONENAND_SECTOR_BYTES 512u
#define FP_ONENAND_SECTORS (FP_PAGER_FLASH_PAGE_BYTES / FP_ONENAND_SECTOR_BYTES)
#define FP_ONENAND_BLOCK_PAGES 64u

/* Words of the chip. */
#define FP_ONENAND_DATA 0x0200u   /* the buffers, one behind the other */
#define FP_ONENAND_SPARE 0x8010u  /* the spare areas of what they hold */
#define FP_ONENAND_MAKER 0xf000u
#define FP_ONENAND_DEVICE 0xf001u
#define FP_ONENAND_BUFFER_BYTES 0xf003u
#define FP_ONENAND_BUFFERS 0xf005u
#define FP_ONENAND_ADDRESS_1 0xf100u /* die and block */
#define FP_ONENAND_ADDRESS_2 0xf101u /* the die whose buffers and registers are seen */
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

enum fp_onenand_failure {
    FP_ONENAND_FINE,
    FP_ONENAND_SILENT,
    FP_ONENAND_REFUSED,
    FP_ONENAND_BEYOND,
    FP_ONENAND_LOST,
    FP_ONENAND_ECC,
    FP_ONENAND_OTHER, /* no OneNAND, or one whose pages or buffers are not the design's */
};

/* Look what chip it is, and make it ready. FP_PAGER_OK; FP_PAGER_IO for another chip than the design
 * wants; FP_PAGER_OUTSIDE for one that is too small for the image. */
FP_PAGER_API int fp_onenand_start(void);

/* Why the last that failed did so. */
FP_PAGER_API enum fp_onenand_failure fp_onenand_why(void);

/* Sectors in which a bit was corrected, since fp_onenand_start(). */
FP_PAGER_API uint32_t fp_onenand_corrected(void);

/* Start to load sectors of a page of the chip into buffer 0 or 1, each to where it is in a page. What
 * was started before must have been waited for. */
FP_PAGER_API void fp_onenand_load(uint32_t page, uint_fast8_t sector, uint_fast8_t sectors,
                                  uint_fast8_t buffer);

/* Ask whether the load is done: 1 while it is not; else 0, or what failed, as often as it is asked. */
FP_PAGER_API int fp_onenand_ask(void);

/* Wait until the load is done. */
FP_PAGER_API int fp_onenand_wait(void);

/* Read bytes of the image, beside what the pager loads: its buffers hold afterwards what they held.
 * From within a sector, at an even offset and as many. FP_PAGER_OK, FP_PAGER_IO or FP_PAGER_CORRUPT.
 * For the literals of mmu/arm926.c. */
FP_PAGER_API int fp_onenand_peek(uint32_t offset, uint8_t *to, uint_fast16_t size);

#if FP_ONENAND_INTERRUPT
/* The INT pin is high. It is low behind this. */
FP_PAGER_API void fp_onenand_interrupt(void);

/* Yours: sleep until there was an interrupt, if fp_onenand_ask() gives 1 with interrupts off. Gives 0
 * where that load has taken too long: the load then fails. */
FP_PAGER_API int fp_onenand_sleep(void);
#endif

#endif
