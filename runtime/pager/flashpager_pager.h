/*
 * flashpager pager: code and constants in flash, run through a few frames of RAM
 *
 * For firmware without an MMU that interprets bytecode, or reads constants, from a flash chip that
 * cannot be executed from. The pager keeps cache pages of the image in frames of RAM and finds,
 * evicts and fetches them exactly as `flashpager simulate` counts it.
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
 * Every choice is made when the pager is compiled: it includes "fp_pager_design.h", which you write
 * or `flashpager deploy` writes. What it may say stands below, "The design". There is one pager a
 * program, and its state is static: on an AVR it is the constant addresses that make a hit cheap.
 * Nothing is allocated, printed or locked; do not call it from an interrupt that may interrupt it.
 *
 * Who calls what. Your program calls the functions fp_pager_*() and fp_cursor_*(). The pager calls
 * the functions fp_flash_*(), which you write for your chip: "The port" below.
 *
 * Windows. A cursor is a place in the image, and while it is open a window on the frame that holds
 * its page: fp_cursor_byte() compares two pointers and takes a byte, and asks the pager only when
 * the window is at its end. One cursor is open at a time. Where the pager is asked through another
 * one, or by fp_pager_read(), it closes the first, which goes on where it was when it is used next.
 * So bytes are never taken from a frame that holds another page by now. A cursor must not go out
 * of scope open: fp_cursor_close().
 *
 * Equality. The pager's counts are those of `flashpager simulate`, with the same design, for the
 * trace of all bytes taken, in the order in which they were taken. What breaks that:
 *   - Data. What fp_pager_read() and a second cursor take are references as those of code are. A
 *     trace of code alone has fewer.
 *   - Reading ahead. A decoder that takes bytes behind what it executes, across the end of a page,
 *     references that page too early or in vain. Take a byte when it is needed.
 *   - Pinned pages are no references, and do not part those before and after them: the trace to
 *     compare with is that without them.
 *   - A read that failed or was tried again: see "Failures".
 *
 * Failures. A page whose load fails, that cannot be corrected or whose tag is wrong is tried again
 * FP_PAGER_RETRIES times, with a load of its own each time. Then fp_flash_failed() is asked; what it
 * returns is what the caller gets. Every list, hand, reference bit and generator is then as it was
 * before the reference. If bytes were fetched already, the victim's page is gone: its frame holds
 * no page, keeps its place, and its reference bit is clear. The next search begins where this one
 * began, so it ends at the same frame: who faults next gets the empty frame. While frames are free
 * it is the next free one still. The register is taken to hold nothing. A reference that failed is
 * not counted, but it parts those before and after it.
 *
 * Authentication. With FP_PAGER_TAG_BYTES, nothing of a page is used before the tag of its unit was
 * checked. A unit is a codeword, or a cache page where that is as large or larger. Its tag is a MAC
 * of 8 bytes and the unit's data: the image's version and the unit's number, each of 4 bytes, the
 * least significant first. So a page that was altered, put at another place or kept from an older
 * image is refused: FP_PAGER_FORGED. The image's version must be at least fp_flash_oldest(), a
 * counter that only grows: else FP_PAGER_OLD. Tags stand in the spare area of a flash page, that of
 * its first unit at FP_PAGER_TAG_AT; fp_flash_spare() gets them. `flashpager deploy` writes them, and
 * mac/aes_cmac.h is a MAC.
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
#define FP_PAGER_FIFO_SC 7 /* with FP_PAGER_VALID, at least 1 and below the frames; wants an MMU */
#define FP_PAGER_PA_FIFO_SC 8 /* the same */

/* How the frame of a page is found. */
#define FP_PAGER_TABLE 1 /* a frame number for each page of the image: the fastest */
#define FP_PAGER_HINT 2  /* a guess by the page's last bits, else all frames */
#define FP_PAGER_SCAN 3  /* all frames: the smallest */
#define FP_PAGER_MMU 4   /* an MMU, which faults where there is none: mmu/flashpager_mmu.h */

/* Register models, as docs/model.md has them. */
#define FP_PAGER_SEQUENTIAL 1
#define FP_PAGER_START_COLUMN 2
#define FP_PAGER_RANDOM_COLUMN 3
#define FP_PAGER_DOUBLE_BUFFER 4
#define FP_PAGER_DOUBLE_BUFFER_PREFETCH 5

/* Schedules: what is done while the flash loads, as docs/handler.md has them. */
#define FP_PAGER_SCHEDULE_SEQUENTIAL 1   /* nothing */
#define FP_PAGER_SCHEDULE_PARALLEL 2     /* the search for a frame */
#define FP_PAGER_SCHEDULE_PARALLEL_MMU 3 /* that, and what is mapped; wants an MMU */

/*
 * The design. FP_PAGER_DESIGN_GIVEN says that all is on the command line.
 *
 * Wanted: FP_PAGER_POLICY, FP_PAGER_LOOKUP, FP_PAGER_REGISTER; FP_PAGER_FRAMES;
 * FP_PAGER_PAGE_BYTES, of a cache page; FP_PAGER_FLASH_PAGE_BYTES; FP_PAGER_IMAGE_BYTES.
 */
#ifndef FP_PAGER_DESIGN_GIVEN
#include "fp_pager_design.h"
#endif

#if !defined(FP_PAGER_POLICY) || !defined(FP_PAGER_LOOKUP) || !defined(FP_PAGER_REGISTER) ||      \
    !defined(FP_PAGER_FRAMES) || !defined(FP_PAGER_PAGE_BYTES) ||                                \
    !defined(FP_PAGER_FLASH_PAGE_BYTES) || !defined(FP_PAGER_IMAGE_BYTES)
#error "fp_pager_design.h must say policy, lookup, register, frames, pages and image"
#endif

/* May be said; these are the defaults. */
#ifndef FP_PAGER_RETRIES
#define FP_PAGER_RETRIES 2 /* of a page that cannot be read */
#endif
#ifndef FP_PAGER_CODEWORD_BYTES
#define FP_PAGER_CODEWORD_BYTES 0 /* host ECC: whole codewords are fetched and corrected */
#endif
#ifndef FP_PAGER_PINNED_PAGES
#define FP_PAGER_PINNED_PAGES 0 /* the image's first cache pages, in RAM of their own for good */
#endif
#ifndef FP_PAGER_TAG_BYTES
#define FP_PAGER_TAG_BYTES 0 /* authentication: of a tag, at most 16 */
#endif
#ifndef FP_PAGER_TAG_AT
#define FP_PAGER_TAG_AT 0 /* where the tags begin in the spare area */
#endif
#ifndef FP_PAGER_IMAGE_VERSION
#define FP_PAGER_IMAGE_VERSION 1 /* an expression, taken by fp_pager_start() */
#endif
#ifndef FP_PAGER_SCHEDULE
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL
#endif
#ifndef FP_PAGER_CRITICAL_BYTES
#define FP_PAGER_CRITICAL_BYTES 0 /* with an MMU: the program goes on when it has so much of a page */
#endif
#ifndef FP_PAGER_BAD_BLOCKS
#define FP_PAGER_BAD_BLOCKS 0 /* bad erase blocks among the image's: the most that are passed by */
#endif
#ifndef FP_PAGER_BLOCK_PAGES
#define FP_PAGER_BLOCK_PAGES 64 /* flash pages of an erase block, where bad ones are passed by */
#endif
#ifndef FP_PAGER_STATISTICS
#define FP_PAGER_STATISTICS 0 /* 1: fp_pager_stat() */
#endif
#ifndef FP_PAGER_CHECKS
#define FP_PAGER_CHECKS 0 /* 1, with an MMU: each fault looks at all lists and entries first */
#endif
#ifndef FP_PAGER_CURSORS
#define FP_PAGER_CURSORS 2 /* 1: the program has one cursor and no fp_pager_read() */
#endif
/* What the functions are declared as. `static` makes the pager part of the file that includes
 * pager.c, where there is another one in the program. */
#ifndef FP_PAGER_API
#define FP_PAGER_API extern
#endif

/* Cache pages of the image. */
#define FP_PAGER_PAGES                                                                           \
    ((FP_PAGER_IMAGE_BYTES + FP_PAGER_PAGE_BYTES - 1ul) / FP_PAGER_PAGE_BYTES)
/* What arrays and types are made for. FP_PAGER_SIZES_VARY: sizes are no constants, as in a test
 * that wants many of them, and the most of each is said beside. */
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
#error "FP_PAGER_POLICY is none"
#endif
#if FP_PAGER_LOOKUP < FP_PAGER_TABLE || FP_PAGER_LOOKUP > FP_PAGER_MMU
#error "FP_PAGER_LOOKUP is none"
#endif
#if FP_PAGER_LOOKUP == FP_PAGER_MMU
#if FP_PAGER_POLICY == FP_PAGER_SIEVE || FP_PAGER_POLICY == FP_PAGER_LRU
#error "sieve and lru want to see hits, and with an MMU nobody sees them"
#endif
#if FP_PAGER_PINNED_PAGES
#error "pinned pages: map what stays in RAM yourself, and leave it out of the image"
#endif
#elif FP_PAGER_POLICY >= FP_PAGER_FIFO_SC
#error "fifo-sc and pa-fifo-sc are for an MMU"
#elif FP_PAGER_CHECKS
#error "FP_PAGER_CHECKS is for an MMU"
#endif
#if FP_PAGER_SCHEDULE < FP_PAGER_SCHEDULE_SEQUENTIAL ||                                          \
    FP_PAGER_SCHEDULE > FP_PAGER_SCHEDULE_PARALLEL_MMU ||                                        \
    (FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_PARALLEL_MMU && FP_PAGER_LOOKUP != FP_PAGER_MMU)
#error "FP_PAGER_SCHEDULE is none"
#endif
#if FP_PAGER_REGISTER < FP_PAGER_SEQUENTIAL || FP_PAGER_REGISTER > FP_PAGER_DOUBLE_BUFFER_PREFETCH
#error "FP_PAGER_REGISTER is none"
#endif
#if FP_PAGER_CRITICAL_BYTES
#if !FP_PAGER_POWER_OF_TWO_(FP_PAGER_CRITICAL_BYTES) ||                                          \
    FP_PAGER_CRITICAL_BYTES >= FP_PAGER_PAGE_BYTES
#error "FP_PAGER_CRITICAL_BYTES is no power of two below FP_PAGER_PAGE_BYTES"
#endif
#if FP_PAGER_LOOKUP != FP_PAGER_MMU || FP_PAGER_REGISTER < FP_PAGER_DOUBLE_BUFFER
#error "a critical block is for an MMU, and for two buffers"
#endif
#if FP_PAGER_CODEWORD_BYTES || FP_PAGER_TAG_BYTES
#error "with codewords or tags nothing of a page is used before all of it was checked"
#endif
#endif
#if FP_PAGER_BAD_BLOCKS && FP_PAGER_BLOCK_PAGES < 1
#error "FP_PAGER_BLOCK_PAGES is at least 1"
#endif
#if FP_PAGER_TAG_BYTES > 16
#error "FP_PAGER_TAG_BYTES is at most 16"
#endif
#if FP_PAGER_TAG_BYTES && FP_PAGER_REGISTER < FP_PAGER_RANDOM_COLUMN
#error "tags stand in the spare area: that takes a register whose column can be changed"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An offset in the image, and the number of a page. */
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

/* What functions return: 0 or more, or one of these. */
enum fp_pager_error {
    FP_PAGER_OK = 0,
    FP_PAGER_IO = -1,         /* the chip failed: what fp_flash_wait() and fp_flash_fetch() return */
    FP_PAGER_CORRUPT = -2,    /* ECC could not correct: what fp_flash_correct() returns */
    FP_PAGER_FORGED = -3,     /* the tag is wrong */
    FP_PAGER_OUTSIDE = -4,    /* behind the image; fp_flash_failed() is not asked */
    FP_PAGER_OLD = -5,        /* the image's version is below the rollback counter */
    FP_PAGER_BAD = -6,        /* more bad blocks than FP_PAGER_BAD_BLOCKS */
    FP_PAGER_DAMAGED = -7,    /* FP_PAGER_CHECKS: what the pager keeps contradicts itself */
    FP_PAGER_BUSY = -8,       /* FP_PAGER_CHECKS: a fault while one is served */
};

/* Empty the cache, look for bad blocks, fetch the pinned pages. Before all else; cursors that are
 * open are then to be closed by `*cursor = (struct fp_cursor){0}`. Gives 0 or an error. */
FP_PAGER_API int fp_pager_start(void);

#if FP_PAGER_LOOKUP == FP_PAGER_MMU
#include "mmu/flashpager_mmu.h"
#else
/* A cursor. Its fields are the library's own. */
struct fp_cursor {
    const uint8_t *at;  /* the next byte of the window; NULL where it is closed */
    const uint8_t *end; /* of the window */
    fp_offset next;     /* offset of what is at `end`; of the next byte where it is closed */
};

/* Reference a cache page: give its bytes, which stay there until the pager is asked for another
 * page; or NULL, and fp_pager_error() says why. What cursors and fp_pager_read() stand on; where you
 * call it yourself, no cursor may be open. */
FP_PAGER_API const uint8_t *fp_pager_page(fp_page page);

/* Why fp_pager_page() gave NULL the last time. */
FP_PAGER_API int fp_pager_error(void);

#if FP_PAGER_CURSORS > 1
/* Copy bytes of the image to `to`. Gives 0 or an error; `to` may then be filled in part. Nothing is
 * read where some of them are behind the image. */
FP_PAGER_API int fp_pager_read(fp_offset from, void *to, size_t size);
#endif

/* Open the window of the page of the next byte. Gives 0 or an error. fp_cursor_byte() calls it. */
FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor);

/* Close a cursor; it stays where it is. */
FP_PAGER_API void fp_cursor_close(struct fp_cursor *cursor);

/* Take the next byte. Gives it, or an error; the cursor then stays where it is. Who goes on behind
 * the image in a window that is open gets what flash has there, to the end of the last page. */
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
    byte = *at++; /* loaded and incremented at once, where a core can */
    cursor->at = at;
    return byte;
}

/* Offset of the next byte. */
static inline fp_offset fp_cursor_tell(const struct fp_cursor *cursor)
{
    return (fp_offset)(cursor->next - (fp_offset)(cursor->end - cursor->at));
}

/* Go to an offset. No page is referenced before a byte is taken. A cursor that was open stays known
 * to the pager: close it before its memory goes. */
static inline void fp_cursor_jump(struct fp_cursor *cursor, fp_offset to)
{
    fp_offset back = (fp_offset)(cursor->next - to);
    if (cursor->end && (fp_offset)(back - 1u) < FP_PAGER_PAGE_BYTES) {
        cursor->at = cursor->end - back;
    } else {
        cursor->at = cursor->end = NULL;
        cursor->next = to;
    }
}
#endif

#if FP_PAGER_STATISTICS
/* Counts, as docs/model.md defines them. `hits` are references − misses, `bytes_written` misses
 * times the bytes of a cache page. Bytes taken are not counted: nothing is done for a byte. */
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
    uint32_t tag_bytes_fetched; /* of those fetched */
    uint32_t mac_bytes; /* of which a MAC was taken */
    uint32_t walk;
    uint32_t max_walk;
    uint32_t downgrades; /* fifo-sc and pa-fifo-sc */
    /* Not the model's. A retry, and a reference that failed, count in none of those above. */
    uint32_t retries;
    uint32_t failures;
    uint32_t corrected; /* codewords for which fp_flash_correct() gave 1 */
    uint32_t rest_faults; /* with a critical block: of pages whose rest was on its way */
};

/* Since fp_pager_start(). */
FP_PAGER_API const struct fp_pager_stat *fp_pager_stat(void);
#endif

/*
 * The port: functions of yours, for your chip.
 *
 * A flash page is numbered from 0, the first of the image; bad blocks are already passed by. A
 * chip holds one in its register, or in one of two buffers, from which bytes are fetched at the
 * column, which goes on by each.
 */

/* The number of a flash page. */
#ifdef FP_PAGER_SIZES_VARY
typedef uint_fast32_t fp_flash_page;
#elif FP_PAGER_IMAGE_BYTES / FP_PAGER_FLASH_PAGE_BYTES < 32767 && FP_PAGER_BAD_BLOCKS == 0
typedef uint_fast16_t fp_flash_page;
#else
typedef uint_fast32_t fp_flash_page;
#endif

/* Begin to load a flash page into the register, to be fetched from `column` on: 0 always where the
 * model is sequential. The pager looks for a victim meanwhile, then calls fp_flash_wait(). */
FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column);

/* Wait until what was begun is done. FP_PAGER_OK or FP_PAGER_IO; FP_PAGER_CORRUPT of a chip that
 * corrects what it loads itself. With prefetch it is called where nothing was begun, too, and gives
 * FP_PAGER_OK then. */
FP_PAGER_API int fp_flash_wait(void);

/* Fetch bytes. FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size);

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
/* Fetch bytes and throw them away. */
FP_PAGER_API void fp_flash_skip(uint_fast16_t size);
#else
/* Change the column of what is held: 05h-E0h, or an address in a buffer. */
FP_PAGER_API void fp_flash_column(uint_fast16_t column);
#endif

#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
/* Loads and fetches are of buffer 0 or 1 from now on. */
FP_PAGER_API void fp_flash_buffer(uint_fast8_t buffer);
#endif

#if FP_PAGER_REGISTER == FP_PAGER_DOUBLE_BUFFER_PREFETCH
/* Prefetch: begin to load a flash page into the other buffer. What is fetched next is of the first
 * one still, and then the program goes on. The pager calls fp_flash_wait() before it changes buffers,
 * or has another page loaded. */
FP_PAGER_API void fp_flash_load_ahead(fp_flash_page page);
#endif

#if FP_PAGER_CRITICAL_BYTES
/* Critical block: begin to fetch the rest of a cache page, by DMA, while the program goes on. The page
 * is at `column` of the buffer that is used, and goes to `to`. FP_PAGER_CRITICAL_BYTES of it from
 * `at` on are there. Meanwhile the other buffer may be loaded; nothing else is fetched. */
FP_PAGER_API void fp_flash_fetch_rest(uint8_t *to, uint_fast16_t column, uint_fast16_t at);

/* Whether the rest has come, or failed: else 0. */
FP_PAGER_API int fp_flash_rest_is_there(void);

/* Wait for the rest: it is in RAM then. FP_PAGER_OK or FP_PAGER_IO; FP_PAGER_OK where none was begun. */
FP_PAGER_API int fp_flash_rest_wait(void);
#endif

#if FP_PAGER_MOST_CODEWORD_BYTES
/* Correct the codeword of FP_PAGER_CODEWORD_BYTES that was fetched from `column`. 0, 1 where
 * something was corrected, FP_PAGER_CORRUPT. It may read the spare area, but must leave the column
 * behind what was fetched. */
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *codeword);
#endif

#if FP_PAGER_TAG_BYTES
/* Change the column to the spare area of the flash page that is held, and fetch bytes `at` from its
 * start. Where the column is then does not matter: it is changed, or the page loaded, before anything
 * else is fetched. FP_PAGER_OK or FP_PAGER_IO. */
FP_PAGER_API int fp_flash_spare(uint_fast16_t at, uint8_t *to, uint_fast8_t size);

/* The MAC of `head` and, behind it, `data`: AES-CMAC, Ascon-Mac, with your key. */
FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES]);

/* The rollback counter: the oldest version of an image that may run. */
FP_PAGER_API uint32_t fp_flash_oldest(void);
#endif

#if FP_PAGER_BAD_BLOCKS
/* Whether an erase block, numbered from 0, the first that the image may lie in, is bad: 1 or 0, or
 * FP_PAGER_IO. */
FP_PAGER_API int fp_flash_is_bad(fp_flash_page block);
#endif

/* A cache page cannot be read. Gives what the caller of the pager gets: `error`, or another
 * negative number; or 0, and it is tried again as often. It must not call the pager. It may leave by
 * longjmp(), but not out of fp_pager_start(): all is as after a failure by then, the cursor that was
 * asked is closed, and fp_pager_error() gives `error`. */
FP_PAGER_API int fp_flash_failed(fp_page page, int error);

#ifdef __cplusplus
}
#endif

#endif
