/*
 * flashpager pager: code and constants in flash, run through a few frames of RAM
 *
 * For firmware without an MMU that interprets bytecode, or reads constants, from a flash chip that
 * cannot be executed from. The pager keeps cache pages of the image in frames of RAM. It finds, evicts
 * and fetches them exactly as `flashpager simulate` counts it.
 *
 *     static struct fp_cursor code;               // all zero: closed, at offset 0
 *
 *     if (fp_pager_start() < 0) ...               // once
 *     fp_cursor_jump(&code, entry);
 *     for (;;) {
 *         int opcode = fp_cursor_byte(&code);     // the next byte, or a negative error
 *         switch (opcode) {
 *         case GOTO: fp_cursor_jump(&code, target); break;
 *         case LOAD: error = fp_pager_read(constant, &word, sizeof(word)); break;
 *         ...
 *
 * Taking it into a project. Copy this header, pager.c and the folder core/; for an MMU the folder mmu/, and
 * for a serial NAND or NOR, an SD card or a OneNAND its port: spi_nand/, spi_nor/, sd_spi/ or onenand/. Compile
 * pager.c alone: it includes the rest.
 *
 * The design. Every choice is made when the pager is compiled: it includes "fp_pager_design.h", which
 * you write or `flashpager deploy` writes. The section "The design" below lists its macros. A program has
 * one pager, and its state is static: on an AVR it is the constant addresses that make a hit cheap. The
 * pager allocates nothing and prints nothing. Interrupts and tasks: see below.
 *
 * The port. Your program calls the functions fp_pager_*() and fp_cursor_*(). The pager calls the
 * functions fp_flash_*(), which you write for your chip: the section "The port" below.
 *
 * Windows. A cursor is a position in the image. While it is open, it is also a window on the frame that
 * holds its page: fp_cursor_byte() compares two pointers and takes a byte, and calls the pager only at
 * the end of the window. One cursor is open at a time: a call of the pager by anything else closes it, and
 * its next use goes on where it was. So no byte is ever taken from a frame that holds another page by then.
 * Close a cursor before it goes out of scope: fp_cursor_close().
 *
 * Tasks and interrupts. The pager runs one call at a time. A call from a port function, or from a handler
 * or task that interrupts a load, returns FP_PAGER_BUSY and changes nothing. Which contexts may call depends
 * on FP_PAGER_WINDOWS:
 *   - 0, the default: the context that called fp_pager_start(), alone. A handler that interrupts it between
 *     two loads would close its cursor in the middle of a byte. Define FP_PAGER_CONTEXT() to have that
 *     refused with FP_PAGER_BUSY: an expression for the running context, such as the handle of the task. On
 *     a Cortex-M it is the number of the exception by default, so that handlers are refused. On an AVR
 *     whose program runs with interrupts enabled from before the start, take (SREG & 0x80).
 *   - n: all tasks and handlers of one core. Each has cursors of its own, and n of them may be open. An open
 *     cursor holds its frame from its first byte until it is closed: the frame is no victim, and no call
 *     closes another's cursor, so that taking a byte needs no lock. One cursor more gets FP_PAGER_FULL.
 *     fp_pager_read() needs no window. fp_pager_start() returns before anybody else calls.
 * With windows, FP_PAGER_LOCK 1 has tasks wait instead of being refused: fp_flash_lock(). After
 * FP_PAGER_BUSY or FP_PAGER_FULL the position is as before, so try again later. Cores that cannot exchange a
 * byte atomically (Cortex-M0, AVR) need the lock if tasks preempt each other; handlers need none.
 * Victims are searched among the frames that nobody holds, so the counts of windows are not those of
 * `flashpager simulate`.
 *
 * Equality. The pager's counts are those of `flashpager simulate` with the same design, for the trace
 * of all bytes taken, in the order in which they were taken. Three things break that:
 *   - Data. The bytes of fp_pager_read() and of a second cursor are references, too. A trace of code
 *     alone does not have them.
 *   - Reading ahead. A decoder that takes bytes behind the instruction that it executes, across the end
 *     of a page, references the next page too early, or needlessly. Take a byte when it is needed.
 *   - Pinned pages. They are no references, and do not part the references before and after them.
 *     Compare with the trace without them.
 * A read that failed or was tried again also changes counts: see "Failures".
 *
 * Failures. If a load fails or a page cannot be corrected, the page is tried again FP_PAGER_RETRIES
 * times, with a load each time; a page with a wrong tag is not. Then fp_flash_failed() is called, and the
 * caller gets what it returns. Afterwards:
 *   - Every list, hand, reference bit and generator is as it was before the reference.
 *   - If bytes had been fetched already, the victim's page is lost: its frame holds no page, keeps its
 *     place, and its reference bit is clear. The next search begins where this one began, so that it
 *     ends at the same frame, and the next fault gets the empty frame. While free frames are left, the
 *     next free one stays the same.
 *   - Nothing in the register is used any more.
 *   - The failed reference is not counted, but it parts the references before and after it.
 *
 * Authentication. With FP_PAGER_TAG_BYTES no byte of a page is used before the tag of its unit was
 * checked. A unit is a codeword, or a cache page if that is as large or larger. Its tag is a MAC of 8
 * bytes and the data of the unit. The 8 bytes are the version of the image and the number of the unit,
 * each of 4 bytes, the least significant first. So a page that was altered, put elsewhere or kept from
 * an older image is refused: FP_PAGER_FORGED. No byte of it stays in RAM. A tag of n bytes lets one forged
 * page in 2^(8n) pass: take 8 bytes or more. The pager limits neither attempts nor starts, and calls
 * fp_flash_failed() for pages, but not for headers: docs/pager-threats.md. The version must be at least
 * fp_flash_oldest(), a counter that only grows: otherwise fp_pager_start() returns FP_PAGER_OLD. Tags stand in
 * the spare area of a flash page, the first at FP_PAGER_TAG_AT; fp_flash_spare() reads them. `flashpager
 * deploy` writes them, and mac/aes_cmac.h is a MAC.
 *
 * Images. With FP_PAGER_HEADER 1 the first FP_PAGER_HEADER_PAGES flash pages hold a header, and the image
 * follows. The image's length and version are those of the header, so that a new image needs no new
 * firmware: FP_PAGER_IMAGE_BYTES is the longest, and FP_PAGER_IMAGE_VERSION is not used.
 * fp_pager_start() reads the header into frames, tries again as for a page, and returns
 * FP_PAGER_NO_IMAGE, FP_PAGER_DESIGN, FP_PAGER_LARGE, FP_PAGER_FORGED or FP_PAGER_OLD for an image that it
 * refuses; it does not call fp_flash_failed() for a header. FORGED and OLD need tags: without them the
 * CRCs notice damage alone, and the version is information only. `flashpager deploy --header` writes the
 * header. Its bytes, numbers with the least significant byte first:
 *
 *     0  "FPIM"                        20  the id of the image, 8 bytes
 *     4  FP_PAGER_IMAGE_FORMAT         28  CRC-32 of the bytes of the image
 *     8  the design, see below         32  tag of bytes 0 to 31, in 16 bytes; the rest is 0
 *    12  length of the image           48  12 bytes of 0
 *    16  version of the image          60  CRC-32 of bytes 0 to 59
 *
 * The design is the CRC-32 of seven numbers of 4 bytes: FP_PAGER_IMAGE_FORMAT, FP_PAGER_FLASH_PAGE_BYTES,
 * FP_PAGER_HEADER_PAGES, FP_PAGER_CODEWORD_BYTES, FP_PAGER_TAG_BYTES, FP_PAGER_TAG_AT and the bytes of a
 * unit, the last two being 0 without tags. Frames, policy and lookup may differ: no byte's place depends
 * on them. With tags, the key of all MACs is derived from yours and the id: fp_flash_image_key(). So a page
 * of another image is refused, even one of the same key, version and place. The MAC of the header has
 * the number 0xffffffff in place of a unit's. Without a header, pages of images with the same key,
 * version and place can be exchanged: give each image a key of its own.
 *
 * Updates. With FP_PAGER_SLOTS 1 the chip has two slots for images, and updates that power cuts cannot break:
 * slots/slots.h. Without, erase the header's block first, and write it last. In a NAND the pages of a block are
 * programmed in order, and the header is the first page of its block, so it is there before the rest of the
 * block. Call fp_pager_check() after every update. With FP_PAGER_HEADER_PAGES of a whole block the header has a
 * block of its own, and can be written last; `flashpager deploy` does not write such images.
 *
 * Homes. With FP_PAGER_STORE_HOMES flash page p of the store is the home of cache page p. It begins with a
 * header, the numbers of the pages in its slots, and slot 0 holds p itself; docs/homes.md has the format.
 * The pager keeps the header of the home in the register, FP_PAGER_HOME_HEADER_BYTES of RAM, and serves
 * every page that it finds there without a load. A load fetches the header first, at column 0. If its first
 * number is not the home's own, the page is FP_PAGER_CORRUPT: the flash holds no home there. Nothing else is
 * checked. The store of another image, version or size of cache pages begins with the same number and is not
 * noticed, and the numbers of the other slots are believed: one wrong bit serves another page. Take a chip
 * with ECC of its own. A fetch that fails forgets the header, so the next try loads the page's own home. With
 * start-column, FP_PAGER_MOST_SKIPPED slots are skipped at most; `flashpager deploy` computes it. Bad blocks are
 * passed by as in the plain store.
 */
#ifndef FLASHPAGER_PAGER_H
#define FLASHPAGER_PAGER_H

#include <stddef.h>
#include <stdint.h>

/* Policies. */
#define FP_PAGER_FIFO 1
#define FP_PAGER_CLOCK 2
#define FP_PAGER_PA_CLOCK 3 /* with FP_PAGER_WALK_BUDGET, at least 1 */
#define FP_PAGER_SIEVE 4
#define FP_PAGER_LRU 5
#define FP_PAGER_RANDOM 6 /* with FP_PAGER_SEED, below 2^32 */
#define FP_PAGER_FIFO_SC 7 /* for an MMU; with FP_PAGER_VALID, at least 1 and below the frames */
#define FP_PAGER_PA_FIFO_SC 8 /* as fifo-sc */

/* Lookups: how the frame of a page is found. */
#define FP_PAGER_TABLE 1 /* a frame number for each page of the image: the fastest */
#define FP_PAGER_HINT 2  /* a frame to try first, by the page's last bits; then all frames */
#define FP_PAGER_SCAN 3  /* all frames: the smallest */
#define FP_PAGER_MMU 4   /* the page table of an MMU: mmu/flashpager_mmu.h */

/* Register models, as docs/model.md defines them. */
#define FP_PAGER_SEQUENTIAL 1
#define FP_PAGER_START_COLUMN 2
#define FP_PAGER_RANDOM_COLUMN 3
#define FP_PAGER_DOUBLE_BUFFER 4
#define FP_PAGER_DOUBLE_BUFFER_PREFETCH 5

/* Schedules: what the pager does while the flash loads, as docs/handler.md defines them. */
#define FP_PAGER_SCHEDULE_SEQUENTIAL 1   /* nothing */
#define FP_PAGER_SCHEDULE_PARALLEL 2     /* the search for a frame */
#define FP_PAGER_SCHEDULE_PARALLEL_MMU 3 /* the search and the mapping; for an MMU */

/* Stores: where cache pages lie in flash, as docs/model.md defines it. */
#define FP_PAGER_STORE_PLAIN 1 /* the image as it is */
#define FP_PAGER_STORE_HOMES 2 /* a flash page for each cache page: see "Homes" above */

/*
 * The design
 *
 * Define FP_PAGER_DESIGN_GIVEN if all macros are on the command line. Required are FP_PAGER_POLICY,
 * FP_PAGER_LOOKUP, FP_PAGER_REGISTER, FP_PAGER_FRAMES, FP_PAGER_PAGE_BYTES (the size of a cache page),
 * FP_PAGER_FLASH_PAGE_BYTES and FP_PAGER_IMAGE_BYTES.
 */
#ifndef FP_PAGER_DESIGN_GIVEN
#include "fp_pager_design.h"
#endif

#if !defined(FP_PAGER_POLICY) || !defined(FP_PAGER_LOOKUP) || !defined(FP_PAGER_REGISTER) ||      \
    !defined(FP_PAGER_FRAMES) || !defined(FP_PAGER_PAGE_BYTES) ||                                \
    !defined(FP_PAGER_FLASH_PAGE_BYTES) || !defined(FP_PAGER_IMAGE_BYTES)
#error "fp_pager_design.h must define policy, lookup, register, frames, pages and image"
#endif

/* The size of a header, and the format of headers and tags that this pager reads. */
#define FP_PAGER_HEADER_BYTES 64
#define FP_PAGER_IMAGE_FORMAT 1
/* The size of an image's id. */
#define FP_PAGER_ID_BYTES 8

/* Optional macros, with their defaults. */
#ifndef FP_PAGER_RETRIES
#define FP_PAGER_RETRIES 2 /* further attempts to read a page that cannot be read */
#endif
#ifndef FP_PAGER_CODEWORD_BYTES
#define FP_PAGER_CODEWORD_BYTES 0 /* host ECC: the codewords that are fetched and corrected whole; 0: none */
#endif
#ifndef FP_PAGER_PINNED_PAGES
#define FP_PAGER_PINNED_PAGES 0 /* first cache pages of the image, kept in RAM of their own */
#endif
#ifndef FP_PAGER_TAG_BYTES
#define FP_PAGER_TAG_BYTES 0 /* size of a tag, at most 16; 0: no authentication */
#endif
#ifndef FP_PAGER_TAG_AT
#define FP_PAGER_TAG_AT 0 /* offset of the first tag in the spare area */
#endif
#ifndef FP_PAGER_IMAGE_VERSION
#define FP_PAGER_IMAGE_VERSION 1 /* an expression, evaluated by fp_pager_start() */
#endif
#ifndef FP_PAGER_HEADER
#define FP_PAGER_HEADER 0 /* 1: a header in flash says which image it is: see "Images" */
#endif
#ifndef FP_PAGER_HEADER_PAGES
#define FP_PAGER_HEADER_PAGES /* flash pages of the header, which the image follows */           \
    ((FP_PAGER_HEADER_BYTES + FP_PAGER_FLASH_PAGE_BYTES - 1) / FP_PAGER_FLASH_PAGE_BYTES)
#endif
#ifndef FP_PAGER_SLOTS
#define FP_PAGER_SLOTS 0 /* 1: the image lies in one of two slots: slots/slots.h */
#endif
#ifndef FP_PAGER_SCHEDULE
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL
#endif
#ifndef FP_PAGER_STORE
#define FP_PAGER_STORE FP_PAGER_STORE_PLAIN
#endif
#ifndef FP_PAGER_CRITICAL_BYTES
#define FP_PAGER_CRITICAL_BYTES 0 /* MMU: size of the block that comes first; 0: whole pages */
#endif
#ifndef FP_PAGER_BAD_BLOCKS
#define FP_PAGER_BAD_BLOCKS 0 /* most bad erase blocks that the image passes by */
#endif
#ifndef FP_PAGER_BLOCK_PAGES
#define FP_PAGER_BLOCK_PAGES 64 /* flash pages of an erase block; used with bad blocks or slots */
#endif
#ifndef FP_PAGER_STATISTICS
#define FP_PAGER_STATISTICS 0 /* 1: fp_pager_stat() */
#endif
#ifndef FP_PAGER_CHECKS
#define FP_PAGER_CHECKS 0 /* 1, with an MMU: each fault first checks all lists and entries */
#endif
#ifndef FP_PAGER_CURSORS
#define FP_PAGER_CURSORS 2 /* 1: the program has one cursor, and no fp_pager_read() */
#endif
#ifndef FP_PAGER_ALIGN
#define FP_PAGER_ALIGN 1 /* alignment of frames, pinned pages and codewords: a DMA may need a cache line */
#endif
#ifndef FP_PAGER_WINDOWS
#define FP_PAGER_WINDOWS 0 /* cursors that may be open at a time; 0: one, of one context */
#endif
#ifndef FP_PAGER_LOCK
#define FP_PAGER_LOCK 0 /* 1: fp_flash_lock() and fp_flash_unlock() */
#endif
#if !defined(FP_PAGER_CONTEXT) && defined(__GNUC__) && defined(__ARM_ARCH_PROFILE)
#if __ARM_ARCH_PROFILE == 'M'
static inline uint32_t fp_pager_exception(void)
{
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    return number;
}
#define FP_PAGER_CONTEXT() fp_pager_exception()
#endif
#endif
/* The storage class of all functions. With `static` the pager is part of the file that includes
 * pager.c, so that a program may have several pagers. */
#ifndef FP_PAGER_API
#define FP_PAGER_API extern
#endif

/* The number of cache pages of the image. */
#define FP_PAGER_PAGES                                                                           \
    ((FP_PAGER_IMAGE_BYTES + FP_PAGER_PAGE_BYTES - 1ul) / FP_PAGER_PAGE_BYTES)
/* The bytes of a number in the header of a home, the slots of a home, and the bytes of its header. */
#define FP_PAGER_HOME_NUMBER_BYTES (FP_PAGER_PAGES <= 255 ? 1 : 2)
#define FP_PAGER_HOME_SLOTS                                                                      \
    ((FP_PAGER_FLASH_PAGE_BYTES -                                                                \
      (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES - 1) * FP_PAGER_HOME_NUMBER_BYTES) /      \
     FP_PAGER_PAGE_BYTES)
#define FP_PAGER_HOME_HEADER_BYTES (FP_PAGER_HOME_SLOTS * FP_PAGER_HOME_NUMBER_BYTES)
/* The number of flash pages of the store, or of the longest image with its header. */
#if FP_PAGER_STORE == FP_PAGER_STORE_HOMES
#define FP_PAGER_FLASH_PAGES FP_PAGER_PAGES
#elif FP_PAGER_HEADER
#define FP_PAGER_FLASH_PAGES                                                                     \
    ((FP_PAGER_IMAGE_BYTES - 1ul) / FP_PAGER_FLASH_PAGE_BYTES + 1ul + FP_PAGER_HEADER_PAGES)
#else
#define FP_PAGER_FLASH_PAGES ((FP_PAGER_IMAGE_BYTES - 1ul) / FP_PAGER_FLASH_PAGE_BYTES + 1ul)
#endif
/* The sizes of arrays, and the ranges of types. With FP_PAGER_SIZES_VARY the sizes of the design are no
 * constants, as in a test that tries many of them; their maxima are then defined beside them. */
#ifndef FP_PAGER_SIZES_VARY
#define FP_PAGER_MOST_FRAMES FP_PAGER_FRAMES
#define FP_PAGER_MOST_PAGES FP_PAGER_PAGES
#define FP_PAGER_MOST_PAGE_BYTES FP_PAGER_PAGE_BYTES
#define FP_PAGER_MOST_CODEWORD_BYTES FP_PAGER_CODEWORD_BYTES
#define FP_PAGER_POWER_OF_TWO_(n) ((n) > 0 && ((n) & ((n)-1)) == 0)
#if FP_PAGER_RETRIES < 0 || FP_PAGER_RETRIES > 254
#error "FP_PAGER_RETRIES is not from 0 to 254"
#endif
#if !FP_PAGER_POWER_OF_TWO_(FP_PAGER_PAGE_BYTES)
#error "FP_PAGER_PAGE_BYTES is no power of two"
#endif
#if !FP_PAGER_POWER_OF_TWO_(FP_PAGER_FLASH_PAGE_BYTES) || FP_PAGER_FLASH_PAGE_BYTES > 32768
#error "FP_PAGER_FLASH_PAGE_BYTES is no power of two up to 32768"
#endif
#if FP_PAGER_PAGE_BYTES > FP_PAGER_FLASH_PAGE_BYTES
#error "FP_PAGER_PAGE_BYTES is over FP_PAGER_FLASH_PAGE_BYTES"
#endif
#if FP_PAGER_CODEWORD_BYTES && (!FP_PAGER_POWER_OF_TWO_(FP_PAGER_CODEWORD_BYTES) ||              \
                                FP_PAGER_CODEWORD_BYTES > FP_PAGER_FLASH_PAGE_BYTES)
#error "FP_PAGER_CODEWORD_BYTES is no power of two up to FP_PAGER_FLASH_PAGE_BYTES"
#endif
#if FP_PAGER_FRAMES < 1 || FP_PAGER_FRAMES > 32000
#error "FP_PAGER_FRAMES is from 1 to 32000"
#endif
#if FP_PAGER_IMAGE_BYTES < 1 || FP_PAGER_IMAGE_BYTES > 0x7fff0000
#error "FP_PAGER_IMAGE_BYTES is from 1 to 0x7fff0000"
#endif
#if FP_PAGER_WINDOWS < 0 || FP_PAGER_WINDOWS > 254 || FP_PAGER_WINDOWS >= FP_PAGER_FRAMES
#error "FP_PAGER_WINDOWS is from 0 to 254, and below FP_PAGER_FRAMES: a victim must be left"
#endif
#if FP_PAGER_PINNED_PAGES > FP_PAGER_PAGES
#error "FP_PAGER_PINNED_PAGES is over the pages of the image"
#endif
#if FP_PAGER_REGISTER == FP_PAGER_RANDOM_COLUMN && FP_PAGER_FLASH_PAGE_BYTES <= 512
#error "random-column: chips with pages of 512 bytes have no column change"
#endif
#if FP_PAGER_POLICY == FP_PAGER_PA_CLOCK && FP_PAGER_WALK_BUDGET < 1
#error "pa-clock: FP_PAGER_WALK_BUDGET is at least 1"
#endif
#if FP_PAGER_POLICY >= FP_PAGER_FIFO_SC &&                                                       \
    (FP_PAGER_VALID < 1 || FP_PAGER_VALID >= FP_PAGER_FRAMES)
#error "fifo-sc, pa-fifo-sc: FP_PAGER_VALID is at least 1 and below FP_PAGER_FRAMES"
#endif
#endif
#if FP_PAGER_POLICY < FP_PAGER_FIFO || FP_PAGER_POLICY > FP_PAGER_PA_FIFO_SC
#error "FP_PAGER_POLICY is no policy"
#endif
#if FP_PAGER_LOOKUP < FP_PAGER_TABLE || FP_PAGER_LOOKUP > FP_PAGER_MMU
#error "FP_PAGER_LOOKUP is no lookup"
#endif
#if FP_PAGER_LOOKUP == FP_PAGER_MMU
#if FP_PAGER_POLICY == FP_PAGER_SIEVE || FP_PAGER_POLICY == FP_PAGER_LRU
#error "sieve and lru must see hits, which no handler behind an MMU sees"
#endif
#if FP_PAGER_PINNED_PAGES
#error "pinned pages: map what stays in RAM yourself, and leave it out of the image"
#endif
#elif FP_PAGER_POLICY >= FP_PAGER_FIFO_SC
#error "fifo-sc and pa-fifo-sc need an MMU"
#elif FP_PAGER_CHECKS
#error "FP_PAGER_CHECKS needs an MMU"
#endif
#if FP_PAGER_ALIGN > 1
#if FP_PAGER_LOOKUP == FP_PAGER_MMU
#error "FP_PAGER_ALIGN is not for an MMU, whose port has the frames"
#elif FP_PAGER_ALIGN & (FP_PAGER_ALIGN - 1) || FP_PAGER_PAGE_BYTES % FP_PAGER_ALIGN ||             \
    FP_PAGER_CODEWORD_BYTES % FP_PAGER_ALIGN
#error "FP_PAGER_ALIGN is a power of two, and pages and codewords are multiples of it"
#endif
#endif
#if FP_PAGER_WINDOWS && (FP_PAGER_LOOKUP == FP_PAGER_MMU || FP_PAGER_CURSORS == 1)
#error "FP_PAGER_WINDOWS is for cursors of several contexts: not with an MMU or a single cursor"
#endif
#if FP_PAGER_LOCK && !FP_PAGER_WINDOWS
#error "FP_PAGER_LOCK needs FP_PAGER_WINDOWS: without, one context closes the cursor of another"
#endif
#if FP_PAGER_SCHEDULE < FP_PAGER_SCHEDULE_SEQUENTIAL ||                                          \
    FP_PAGER_SCHEDULE > FP_PAGER_SCHEDULE_PARALLEL_MMU ||                                        \
    (FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_PARALLEL_MMU && FP_PAGER_LOOKUP != FP_PAGER_MMU)
#error "FP_PAGER_SCHEDULE is no schedule, or parallel-mmu without an MMU"
#endif
#if FP_PAGER_REGISTER < FP_PAGER_SEQUENTIAL || FP_PAGER_REGISTER > FP_PAGER_DOUBLE_BUFFER_PREFETCH
#error "FP_PAGER_REGISTER is no register model"
#endif
#if FP_PAGER_STORE == FP_PAGER_STORE_HOMES
#ifdef FP_PAGER_SIZES_VARY
#error "homes: sizes are constants"
#elif FP_PAGER_REGISTER != FP_PAGER_START_COLUMN && FP_PAGER_REGISTER != FP_PAGER_RANDOM_COLUMN
#error "homes are read by start-column or random-column"
#elif FP_PAGER_LOOKUP == FP_PAGER_MMU
#error "homes: not behind an MMU"
#elif FP_PAGER_CODEWORD_BYTES || FP_PAGER_TAG_BYTES
#error "homes exclude codewords and tags, whose place in a home is not defined"
#elif FP_PAGER_HEADER
#error "homes exclude FP_PAGER_HEADER: their store has no header of an image"
#elif FP_PAGER_HOME_SLOTS < 2
#error "homes: FP_PAGER_FLASH_PAGE_BYTES has no room for a header and two cache pages"
#elif FP_PAGER_PAGES > 65535
#error "homes: an image of at most 65535 cache pages"
#elif FP_PAGER_REGISTER == FP_PAGER_START_COLUMN && !defined(FP_PAGER_MOST_SKIPPED)
#error "homes with start-column: FP_PAGER_MOST_SKIPPED must be defined"
#endif
#elif FP_PAGER_STORE != FP_PAGER_STORE_PLAIN
#error "FP_PAGER_STORE is no store"
#endif
#if FP_PAGER_CRITICAL_BYTES
#if !FP_PAGER_POWER_OF_TWO_(FP_PAGER_CRITICAL_BYTES) ||                                          \
    FP_PAGER_CRITICAL_BYTES >= FP_PAGER_PAGE_BYTES
#error "FP_PAGER_CRITICAL_BYTES is no power of two below FP_PAGER_PAGE_BYTES"
#endif
#if FP_PAGER_LOOKUP != FP_PAGER_MMU || FP_PAGER_REGISTER < FP_PAGER_DOUBLE_BUFFER
#error "a critical block needs an MMU and two buffers"
#endif
#if FP_PAGER_CODEWORD_BYTES || FP_PAGER_TAG_BYTES
#error "a critical block excludes codewords and tags, which check all of a page before its first use"
#endif
#endif
#if FP_PAGER_BAD_BLOCKS && FP_PAGER_BLOCK_PAGES < 1
#error "FP_PAGER_BLOCK_PAGES is at least 1"
#endif
#if FP_PAGER_TAG_BYTES > 16
#error "FP_PAGER_TAG_BYTES is at most 16"
#endif
#if FP_PAGER_TAG_BYTES && FP_PAGER_REGISTER < FP_PAGER_RANDOM_COLUMN
#error "tags need a register whose column can be changed, as they stand in the spare area"
#endif

#if FP_PAGER_HEADER
#ifdef FP_PAGER_SIZES_VARY
#error "FP_PAGER_HEADER needs sizes that are constants"
#elif FP_PAGER_LOOKUP == FP_PAGER_MMU
#error "FP_PAGER_HEADER is not for an MMU, whose pages are those of one program"
#elif FP_PAGER_CODEWORD_BYTES && FP_PAGER_CODEWORD_BYTES < FP_PAGER_HEADER_BYTES
#error "FP_PAGER_HEADER needs codewords of FP_PAGER_HEADER_BYTES or more"
#elif FP_PAGER_FRAMES * FP_PAGER_PAGE_BYTES < FP_PAGER_HEADER_BYTES
#error "FP_PAGER_HEADER needs frames of FP_PAGER_HEADER_BYTES in all, which hold it at the start"
#elif FP_PAGER_HEADER_PAGES * FP_PAGER_FLASH_PAGE_BYTES < FP_PAGER_HEADER_BYTES
#error "FP_PAGER_HEADER_PAGES do not hold a header"
#endif
#endif
#if FP_PAGER_SLOTS
#if !FP_PAGER_HEADER
#error "FP_PAGER_SLOTS needs FP_PAGER_HEADER, by which an image is known"
#elif FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
#error "FP_PAGER_SLOTS is for chips with one register"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An offset in the image, in bytes, and the number of a cache page. */
#if FP_PAGER_MOST_PAGES * FP_PAGER_MOST_PAGE_BYTES < 65536
typedef uint_fast16_t fp_offset;
#else
typedef uint_fast32_t fp_offset;
#endif
#if FP_PAGER_MOST_PAGES < 32767
typedef uint_fast16_t fp_page;
#else
typedef uint_fast32_t fp_page;
#endif

/* The errors that functions return; 0 or more is success. */
enum fp_pager_error {
    FP_PAGER_OK = 0,
    FP_PAGER_IO = -1,         /* the chip failed: returned by fp_flash_wait() and fp_flash_fetch() */
    FP_PAGER_CORRUPT = -2,    /* ECC could not correct: returned by fp_flash_correct() */
    FP_PAGER_FORGED = -3,     /* the tag is wrong */
    FP_PAGER_OUTSIDE = -4,    /* behind the image; fp_flash_failed() is not called */
    FP_PAGER_OLD = -5,        /* the image's version is below the rollback counter */
    FP_PAGER_BAD = -6,        /* more bad blocks than FP_PAGER_BAD_BLOCKS */
    FP_PAGER_DAMAGED = -7,    /* FP_PAGER_CHECKS: the pager's state contradicts itself */
    FP_PAGER_BUSY = -8,       /* another call runs, or another context has the pager; MMU: with checks */
    FP_PAGER_FULL = -9,       /* FP_PAGER_WINDOWS cursors are open already */
    /* Returned by fp_pager_start() with FP_PAGER_HEADER. No byte of the image can be read then. */
    FP_PAGER_NO_IMAGE = -10,  /* no header, or a damaged one: write flash.bin of `flashpager deploy` */
    FP_PAGER_DESIGN = -11,    /* the image is laid out for another design: deploy it for this one, or
                                 compile the firmware with the fp_pager_design.h beside the image */
    FP_PAGER_LARGE = -12,     /* longer than FP_PAGER_IMAGE_BYTES: compile the firmware with more */
};

/* Starts the pager: empties the cache, looks for bad blocks and fetches the pinned pages. Call it before
 * all else. If it starts the pager again, reset open cursors by `*cursor = (struct fp_cursor){0}`.
 * Returns 0 or an error. After an error call no other function before a start that succeeds: without
 * FP_PAGER_HEADER wrong bytes could be read. With it, reads return FP_PAGER_OUTSIDE. */
FP_PAGER_API int fp_pager_start(void);

#if FP_PAGER_HEADER
/* An image, as its header describes it. */
struct fp_pager_image {
    uint32_t length; /* in bytes; 0 if fp_pager_start() refused the image */
    uint32_t version;
    uint32_t crc; /* CRC-32 of the image's bytes */
    uint8_t id[FP_PAGER_ID_BYTES];
};

/* Returns the image that fp_pager_start() found. */
FP_PAGER_API const struct fp_pager_image *fp_pager_image(void);

/* Reads all bytes of the image through the frames, and compares their CRC-32 with that of the header: an
 * image that was written in part is noticed. Close all cursors before. Returns FP_PAGER_OK,
 * FP_PAGER_NO_IMAGE, or the error of a page that cannot be read. */
FP_PAGER_API int fp_pager_check(void);
#endif

#if FP_PAGER_LOOKUP == FP_PAGER_MMU
#include "mmu/flashpager_mmu.h"
#else
/* A cursor: a position in the image. Its fields are private to the library. */
struct fp_cursor {
    const uint8_t *at;  /* the next byte of the window; NULL if the cursor is closed */
    const uint8_t *end; /* the end of the window */
    fp_offset next;     /* the offset of the byte at `end`; if closed, that of the next byte */
#if FP_PAGER_WINDOWS
    uint8_t window; /* the number of its window, from 1; 0 if it has none */
#endif
};

#if !FP_PAGER_WINDOWS
/* References a cache page. Returns its bytes, which stay there until another page is referenced; or
 * NULL, and fp_pager_error() has the reason. It closes an open cursor; with FP_PAGER_CURSORS 1 that is up
 * to you. */
FP_PAGER_API const uint8_t *fp_pager_page(fp_page page);
#endif

/* Returns the error of the last page that could not be read, in any context. */
FP_PAGER_API int fp_pager_error(void);

#if FP_PAGER_CURSORS > 1
/* Copies bytes of the image to `to`. Returns 0 or an error; after an error `to` may be filled in part. If
 * some of the bytes are behind the image, none is read. */
FP_PAGER_API int fp_pager_read(uint32_t from, void *to, size_t size);
#endif

/* Opens the window on the page of the next byte. Returns 0 or an error. fp_cursor_byte() calls it. */
FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor);

/* Closes a cursor. Its position stays the same. Never waits. */
FP_PAGER_API void fp_cursor_close(struct fp_cursor *cursor);

/* Takes the next byte. Returns it, or an error; after an error the position stays the same. A window that
 * is open reaches behind the image, to the end of its last page, and gives the bytes of the flash there. */
static inline int fp_cursor_byte(struct fp_cursor *cursor)
{
    const uint8_t *at = cursor->at;
    int byte;
    if (at == cursor->end) {
        int error = fp_cursor_turn(cursor);
        if (error)
            return error;
        at = cursor->at;
    }
    byte = *at++; /* one instruction on cores that load and increment in one */
    cursor->at = at;
    return byte;
}

/* Returns the offset of the next byte. */
static inline fp_offset fp_cursor_tell(const struct fp_cursor *cursor)
{
    return (fp_offset)(cursor->next - (fp_offset)(cursor->end - cursor->at));
}

/* Goes to an offset. No page is referenced before a byte is taken; behind the image none can be. The
 * pager still knows a cursor that was open: close it before its memory goes. */
static inline void fp_cursor_jump(struct fp_cursor *cursor, uint32_t offset)
{
    /* The largest fp_offset lies behind the image; so does all that an fp_offset of 16 bits cannot hold. */
    const fp_offset to = (fp_offset)offset == offset ? (fp_offset)offset : (fp_offset)-1;
    const fp_offset back = (fp_offset)(cursor->next - to);
    if (cursor->end && (fp_offset)(back - 1u) < FP_PAGER_PAGE_BYTES) {
        cursor->at = cursor->end - back;
    } else {
        cursor->at = cursor->end = NULL;
        cursor->next = to;
    }
}
#endif

#if FP_PAGER_STATISTICS
/* Counts, as docs/model.md defines them. `hits` are references − misses, and `bytes_written` are misses
 * times the bytes of a cache page. Bytes taken are not counted, as a byte of a window costs no work. */
struct fp_pager_stat {
    uint32_t references;
    uint32_t misses;
    uint32_t false_faults;       /* fifo-sc and pa-fifo-sc */
    uint32_t reference_bits_set; /* clock and pa-clock */
    uint32_t loads;
    uint32_t prefetches;
    uint32_t other_page;
    uint32_t other_buffer;
    uint32_t forward;
    uint32_t backward;
    uint32_t column_changes;
    uint32_t bytes_fetched;
    uint32_t bytes_skipped;
    uint32_t tag_bytes_fetched; /* part of bytes_fetched */
#if FP_PAGER_STORE == FP_PAGER_STORE_HOMES
    uint32_t header_bytes_fetched; /* part of bytes_fetched */
#endif
    uint32_t mac_bytes;         /* bytes that MACs were computed of */
    uint32_t walk;
    uint32_t max_walk;
    uint32_t downgrades; /* fifo-sc and pa-fifo-sc */
    /* Counts beside the model. Attempts that failed count in none of the fields above. */
    uint32_t retries;
    uint32_t failures;
    uint32_t corrected;   /* codewords for which fp_flash_correct() returned 1 */
    uint32_t rest_faults; /* critical block: faults of pages whose rest was on its way */
};

/* Returns the counts since fp_pager_start(). */
FP_PAGER_API const struct fp_pager_stat *fp_pager_stat(void);
#endif

/*
 * The port: functions that you write for your chip
 *
 * Flash pages are numbered from 0, the first one of the image, or of its header, or with slots of the chip;
 * bad blocks are passed by already. A chip holds a page in its register, or two pages in two buffers. Bytes
 * are fetched at the column, which each byte moves on by one.
 */

/* The number of a flash page. */
#ifdef FP_PAGER_SIZES_VARY
typedef uint_fast32_t fp_flash_page;
#elif FP_PAGER_FLASH_PAGES < 32768 && FP_PAGER_BAD_BLOCKS == 0 && !FP_PAGER_SLOTS
typedef uint_fast16_t fp_flash_page;
#else
typedef uint_fast32_t fp_flash_page;
#endif

/* Begins to load a flash page into the register, which will be fetched from `column` on. With the
 * register models sequential and double-buffer `column` is always 0. The pager looks for a victim
 * meanwhile, then calls fp_flash_wait(). A chip that is read at any address has nothing to load: keep the
 * address for the fetch. */
FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column);

/* Waits until the load has ended. Returns FP_PAGER_OK, FP_PAGER_IO, or FP_PAGER_CORRUPT if the chip has
 * an ECC of its own. With prefetch it is also called when no load was begun, and returns FP_PAGER_OK. */
FP_PAGER_API int fp_flash_wait(void);

/* Fetches bytes. Returns FP_PAGER_OK or FP_PAGER_IO. By DMA behind a data cache, invalidate the lines before
 * and after: with FP_PAGER_ALIGN of a line, such as 32 on a Cortex-M7, nothing else lies in them. The sizes:
 *   - A cache page; or with host ECC the codewords that hold it; or a critical block.
 *   - With homes also the header of a home, FP_PAGER_HOME_HEADER_BYTES. It may be odd, and cache pages follow it,
 *     so that they begin at any column.
 *   - With FP_PAGER_HEADER also the 64 bytes of the image's header, a codeword that holds it, or flash pages that
 *     are smaller. */
FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size);

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
/* Fetches bytes and discards them. */
FP_PAGER_API void fp_flash_skip(uint_fast16_t size);
#else
/* Changes the column: by the command 05h-E0h, or as an address in a buffer. */
FP_PAGER_API void fp_flash_column(uint_fast16_t column);
#endif

#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
/* Chooses the buffer, 0 or 1, of all later loads and fetches. */
FP_PAGER_API void fp_flash_buffer(uint_fast8_t buffer);
#endif

#if FP_PAGER_REGISTER == FP_PAGER_DOUBLE_BUFFER_PREFETCH
/* Begins to load a flash page into the other buffer. The next fetch is still from the current buffer, and
 * then the program goes on. The pager calls fp_flash_wait() before it changes buffers or loads another
 * page. */
FP_PAGER_API void fp_flash_load_ahead(fp_flash_page page);
#endif

#if FP_PAGER_CRITICAL_BYTES
/* Begins to fetch the rest of a cache page by DMA, while the program goes on. The page is at `column` of
 * the current buffer, and goes to `to`. Its block of FP_PAGER_CRITICAL_BYTES at `at` is there already.
 * Meanwhile the other buffer may be loaded, but nothing else is fetched. */
FP_PAGER_API void fp_flash_fetch_rest(uint8_t *to, uint_fast16_t column, uint_fast16_t at);

/* Returns 1 if the rest has come or has failed, and 0 while it is on its way. */
FP_PAGER_API int fp_flash_rest_is_there(void);

/* Waits until the rest is in RAM. Returns FP_PAGER_OK or FP_PAGER_IO; FP_PAGER_OK if no rest was begun. */
FP_PAGER_API int fp_flash_rest_wait(void);
#endif

#if FP_PAGER_MOST_CODEWORD_BYTES
/* Corrects the codeword of FP_PAGER_CODEWORD_BYTES that was fetched from `column`. Returns 0, 1 if it
 * has corrected something, or FP_PAGER_CORRUPT. It may read the spare area, but must leave the column
 * behind the bytes that were fetched. */
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *codeword);
#endif

#if FP_PAGER_TAG_BYTES
/* Changes the column to the spare area of the flash page that is held, and fetches bytes at the offset
 * `at` of that area. It may leave the column anywhere: before anything else is fetched, the column is
 * changed or a page is loaded. Returns FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_flash_spare(uint_fast16_t at, uint8_t *to, uint_fast8_t size);

/* Computes the MAC of `head` followed by `data` with your key: AES-CMAC, Ascon-Mac or another one. */
FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES]);

#if FP_PAGER_HEADER
/* Gives fp_flash_mac() the key of an image, derived from yours and the image's id: see
 * fp_aes_cmac_image_key() of mac/aes_cmac.h. fp_pager_start() calls it before the first MAC. */
FP_PAGER_API void fp_flash_image_key(const uint8_t id[FP_PAGER_ID_BYTES]);
#endif

/* Returns the rollback counter: the oldest version of an image that may run. */
FP_PAGER_API uint32_t fp_flash_oldest(void);
#endif

#if FP_PAGER_BAD_BLOCKS
/* Returns 1 if an erase block is bad, 0 if it is good, or FP_PAGER_IO. Block 0 is the first one that the
 * image may lie in. */
FP_PAGER_API int fp_flash_is_bad(fp_flash_page block);
#endif

#if FP_PAGER_LOCK
/* Locks the pager for a call: tasks wait, for example for a mutex. A handler must not wait: it returns
 * FP_PAGER_BUSY if the lock is taken. Returns FP_PAGER_OK or an error for the caller of the pager. */
FP_PAGER_API int fp_flash_lock(void);

/* Unlocks it again. */
FP_PAGER_API void fp_flash_unlock(void);
#endif

/* Called when a cache page cannot be read. Returns the error for the caller of the pager: `error` or
 * another negative number; or 0 to try the page again as many times. The pager is in the state after a
 * failure, the cursor that was used is closed, and fp_pager_error() returns `error`. So it may use the pager,
 * with other cursors, and it may leave by longjmp(); but neither within fp_pager_start(). */
FP_PAGER_API int fp_flash_failed(fp_page page, int error);

#ifdef __cplusplus
}
#endif

#if FP_PAGER_SLOTS
#include "slots/slots.h"
#endif

#endif
