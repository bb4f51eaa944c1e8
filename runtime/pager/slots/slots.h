/*
 * Two slots for images of the pager: updates that no power cut can break, with a way back
 *
 *     slot = fp_slots_choose();                      // at each start, before fp_pager_start()
 *     error = slot < 0 ? slot : fp_pager_start();
 *     if (error && fp_slots_on_trial() && fp_slots_reject() >= 0)
 *         error = fp_pager_start();                  // the image before
 *     ...
 *     fp_slots_confirm();                            // the new image has proven itself
 *
 *     error = fp_slots_begin();                      // an update, while the image runs
 *     while (!error && more)
 *         error = fp_slots_write(page, size);        // flash.bin, one flash page after another
 *     if (!error)
 *         error = fp_slots_finish(buffer);           // reads the image back; then reset
 *
 * A new image is written to the slot that does not run, and read back. From the next start on it is on
 * trial: FP_SLOTS_TRIES starts without fp_slots_confirm(), and the image before runs again. After any
 * power cuts, also in starts, confirmations and further updates, a start gives the image before or the new
 * one, whole. An image that was confirmed stays until another one is confirmed.
 *
 * The design has FP_PAGER_SLOTS 1 and FP_PAGER_HEADER 1, FP_PAGER_BLOCK_PAGES, and:
 *
 *     #define FP_SLOTS_JOURNAL 0                     // first erase block of the journal
 *     #define FP_SLOTS_JOURNAL_BLOCKS 5              // the default; at least 3
 *     #define FP_SLOTS_A 5                           // first erase block of slot A, which is 0
 *     #define FP_SLOTS_B 21                          // first erase block of slot B, which is 1
 *     #define FP_SLOTS_BLOCKS 16                     // erase blocks of a slot, including those that may go bad
 *
 * Include slots.c behind pager.c. Flash pages and erase blocks are counted from the first one of the chip, or
 * from where its driver begins: FP_SPI_NAND_FIRST_PAGE, FP_SPI_NOR_FIRST_BYTE. In an SPI NOR an erase block is
 * a sector, and FP_PAGER_BLOCK_PAGES are the flash pages in it. An erase block has 3 flash pages or more, of 32
 * bytes or more.
 *
 * The medium. The promise holds for a chip that behaves like this:
 *   - A program or an erasure that returned FP_PAGER_OK is complete: the page, or the block, reads the same
 *     from then on.
 *   - A program whose power was cut, or that failed, leaves its page unstable. Each read gives the bytes
 *     before, those after, any mixture of both, or FP_PAGER_CORRUPT; the next read may give something else.
 *     It may read whole today and not tomorrow. Other pages are not changed.
 *   - An erasure whose power was cut, or that failed, leaves each page of its block as it was, blank, or
 *     unstable. A block may still read as the old image.
 *   - Other bytes are not made by a cut: no read gives a record that was never programmed there, but for
 *     one in 2^32, which its CRC does not find.
 *   - Cuts may follow one another at any operation, also in a start that mends what a cut left.
 *   - The mark of a bad block is set or not.
 * The updater keeps to a NAND's rules: a page is programmed once after the erasure of its block, and the pages
 * of a block in ascending order. A page that a cut may have reached is not programmed before its block was
 * erased whole, even if it reads blank.
 *
 * The journal. A state is the slot that is confirmed, the one that is on trial, and the starts of the trial.
 * Each change of it is written to another block, in three equal pages, one after another, and never again.
 * Each page proves that the one before is complete, and so that every later start sees it:
 *   - Page 0 alone: the state may vanish, and nothing depends on it. Its block may be erased.
 *   - Page 1: page 0 is complete. The block is kept until a state behind it is settled.
 *   - Page 2: page 1 is complete. The state is settled: no later start sees less than two pages. Functions
 *     return, and blocks with older states may be erased.
 * The newest state that is seen is the one that holds. A start that sees less than three pages of it, or a block
 * that shows no state, erases all blocks without a state and writes the state anew before it returns. On a
 * new chip that is each of the first starts; later only a cut or a trial makes a start write.
 * The newest state with two complete pages is never erased, so every start sees it, or one begun behind it:
 *   - A block is erased only if it shows no state, if a settled state is newer, or, when nothing else is left, if
 *     it shows one page. In the last case its page 1 is not complete, and its page 2 was never begun: half
 *     erased, it is never taken for settled.
 *   - No older state comes back: before a state is written, all blocks without one are erased, so none is hidden
 *     with a larger number.
 *   - The slot that is written is named by no state that any start can see: the settled one does not name it,
 *     none is hidden, and all others are older.
 *
 * A write that is cut within its page 1 or 2 may cost a block until the next one that is not. If that happens to
 * all blocks but one in a row, no block is left: the image that is confirmed runs, and functions that change
 * the state return FP_PAGER_BAD. The number of blocks is FP_SLOTS_JOURNAL_BLOCKS, less the bad ones.
 *
 * Bad blocks. With FP_PAGER_BAD_BLOCKS a block that cannot be erased or programmed is marked bad and passed by,
 * in the journal always, in a slot up to FP_PAGER_BAD_BLOCKS times. Without, it is FP_PAGER_IO each time. A start
 * that cannot write the journal runs the image that is confirmed, without a trial. A worn block of the journal
 * can do that to every start. Updates are refused with the error then.
 *
 * Versions. With tags, fp_slots_finish() refuses an image that is older than fp_flash_oldest(), or whose tags
 * are wrong. Raise the counter of fp_flash_oldest() behind fp_slots_confirm(), and not before: the
 * image before could not run again. The journal is not authenticated. docs/pager-threats.md has what follows
 * from that.
 */
#ifndef FLASHPAGER_SLOTS_H
#define FLASHPAGER_SLOTS_H

#include <stdint.h>

#ifndef FP_SLOTS_TRIES
#define FP_SLOTS_TRIES 3 /* starts of an image on trial, up to 255 */
#endif

#if !defined(FP_SLOTS_JOURNAL) || !defined(FP_SLOTS_A) || !defined(FP_SLOTS_B) || !defined(FP_SLOTS_BLOCKS)
#error "FP_PAGER_SLOTS needs FP_SLOTS_JOURNAL, FP_SLOTS_A, FP_SLOTS_B and FP_SLOTS_BLOCKS"
#endif
#ifndef FP_SLOTS_JOURNAL_BLOCKS
#define FP_SLOTS_JOURNAL_BLOCKS 5
#endif
#if FP_SLOTS_JOURNAL_BLOCKS < 3 || FP_SLOTS_JOURNAL_BLOCKS > 16
#error "FP_SLOTS_JOURNAL_BLOCKS is from 3 to 16"
#endif
#if FP_PAGER_BLOCK_PAGES < 3 || FP_PAGER_FLASH_PAGE_BYTES < 32
#error "slots need erase blocks of 3 flash pages or more, of 32 bytes or more"
#endif
#if FP_SLOTS_TRIES < 1 || FP_SLOTS_TRIES > 255
#error "FP_SLOTS_TRIES is from 1 to 255"
#endif
#if FP_SLOTS_BLOCKS * FP_PAGER_BLOCK_PAGES < FP_PAGER_FLASH_PAGES
#error "FP_SLOTS_BLOCKS do not hold an image of FP_PAGER_IMAGE_BYTES with its header"
#endif
#define FP_SLOTS_APART_(a, a_blocks, b, b_blocks) ((a) + (a_blocks) <= (b) || (b) + (b_blocks) <= (a))
#if !FP_SLOTS_APART_(FP_SLOTS_A, FP_SLOTS_BLOCKS, FP_SLOTS_B, FP_SLOTS_BLOCKS) ||                \
    !FP_SLOTS_APART_(FP_SLOTS_A, FP_SLOTS_BLOCKS, FP_SLOTS_JOURNAL, FP_SLOTS_JOURNAL_BLOCKS) ||  \
    !FP_SLOTS_APART_(FP_SLOTS_B, FP_SLOTS_BLOCKS, FP_SLOTS_JOURNAL, FP_SLOTS_JOURNAL_BLOCKS)
#error "the blocks of the slots and of the journal overlap"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses the slot that runs, counts a start of a trial, and ends a trial that has had its starts. A journal
 * without any state is that of a chip that was written elsewhere: slot A runs, or B if A has no header.
 * Returns 0 for slot A or 1 for B; FP_PAGER_NO_IMAGE if no image was ever written; or FP_PAGER_IO if the
 * journal cannot be read: call it again. */
FP_PAGER_API int fp_slots_choose(void);

/* Returns 1 if the chosen image is on trial. */
FP_PAGER_API int fp_slots_on_trial(void);

/* Ends the trial: the chosen image stays. Returns FP_PAGER_OK, also without a trial, or an error, after which
 * it may be called again. */
FP_PAGER_API int fp_slots_confirm(void);

/* Gives up the image on trial, for example as fp_pager_start() or fp_pager_check() refuses it, and chooses the
 * one before. Call fp_pager_start() afterwards. Returns the slot; FP_PAGER_NO_IMAGE if there is no trial, or
 * no image before; or an error. */
FP_PAGER_API int fp_slots_reject(void);

/* Begins an update. Returns FP_PAGER_OK, FP_PAGER_BUSY during a trial, or an error. */
FP_PAGER_API int fp_slots_begin(void);

/* Writes the next flash page of flash.bin: FP_PAGER_FLASH_PAGE_BYTES, and the spare area with tags. Blocks are
 * erased as they are reached. Returns FP_PAGER_OK; FP_PAGER_LARGE if the slot is full; FP_PAGER_BAD if it has
 * too many bad blocks; FP_PAGER_NO_IMAGE without fp_slots_begin(); or FP_PAGER_IO. After an error the update
 * begins again. */
FP_PAGER_API int fp_slots_write(const uint8_t *page, uint_fast16_t size);

/* Ends an update: reads the image back into `buffer`, page by page, and checks header, CRC and tags. From the
 * next start on it is on trial. `buffer` has FP_PAGER_FLASH_PAGE_BYTES. Returns FP_PAGER_OK; an error of
 * fp_pager_start() for its header; FP_PAGER_FORGED for a wrong tag; FP_PAGER_NO_IMAGE for a wrong CRC; or
 * FP_PAGER_IO or FP_PAGER_CORRUPT. After an error it may be called again, or the update begins again. */
FP_PAGER_API int fp_slots_finish(uint8_t *buffer);

/* Returns the first flash page of the chosen slot. The pager adds it to the pages that it loads. */
FP_PAGER_API uint32_t fp_slots_first_page(void);

/*
 * The port: functions that you write
 *
 * They may use the chip's register: the pager forgets what it held. None of them calls the pager.
 */

/* Reads bytes of a flash page from a column on; columns behind FP_PAGER_FLASH_PAGE_BYTES are the spare area.
 * Bytes are corrected, also by host ECC. Returns FP_PAGER_OK, FP_PAGER_CORRUPT if ECC could not correct
 * them, or FP_PAGER_IO if the chip does not answer. */
FP_PAGER_API int fp_slots_read_page(uint32_t page, uint_fast16_t column, uint8_t *to, uint_fast16_t size);

/* Programs the first bytes of a flash page, and waits until that is complete. The rest of the page stays
 * blank. Returns FP_PAGER_OK, or FP_PAGER_IO if the chip reports a failure or does not answer. */
FP_PAGER_API int fp_slots_program_page(uint32_t page, const uint8_t *bytes, uint_fast16_t size);

/* Erases a block, and waits until that is complete. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_slots_erase_block(uint32_t block);

#if FP_PAGER_BAD_BLOCKS
/* Marks a block bad, so that fp_flash_is_bad() returns 1 for it. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_slots_mark_bad(uint32_t block);
#endif

#ifdef __cplusplus
}
#endif

#endif
