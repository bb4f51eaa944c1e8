/*
 * The state of the pager: its RAM beside the frames
 *
 * One struct, so that one address reaches all of it. Fields used most stand first, where short
 * instructions reach them; each has the size of its values, as fast types have 4 bytes on a Cortex-M.
 * A field is there if the design needs it.
 */
#ifndef FLASHPAGER_CORE_STATE_H
#define FLASHPAGER_CORE_STATE_H

/* The length of `hint`: a byte or two for each frame, a power of two. It is the power above the
 * number of frames if a page takes one byte, else the power below. */
#if FP_PAGER_MOST_PAGES < 127
#define HINTS_REACH(n) (FP_PAGER_MOST_FRAMES > (n) / 2)
#else
#define HINTS_REACH(n) (FP_PAGER_MOST_FRAMES >= (n))
#endif
#define FP_PAGER_HINTS_                                                                          \
    (HINTS_REACH(1024)  ? 1024u                                                                  \
     : HINTS_REACH(512) ? 512u                                                                   \
     : HINTS_REACH(256) ? 256u                                                                   \
     : HINTS_REACH(128) ? 128u                                                                   \
     : HINTS_REACH(64)  ? 64u                                                                    \
     : HINTS_REACH(32)  ? 32u                                                                    \
     : HINTS_REACH(16)  ? 16u                                                                    \
     : HINTS_REACH(8)   ? 8u                                                                     \
     : HINTS_REACH(4)   ? 4u                                                                     \
     : HINTS_REACH(2)   ? 2u                                                                     \
                        : 1u)

static struct {
#if FP_PAGER_CURSORS > 1 && !HAS_MMU && !FP_PAGER_WINDOWS
    struct fp_cursor *open_cursor; /* NULL if none is open */
#endif
    int error;              /* of the last page that could not be read */
    stored_flash_page held; /* in the register or the current buffer, or NO_FLASH_PAGE */
#if HAS_TWO_BUFFERS
    stored_flash_page other_held; /* in the other buffer, or NO_FLASH_PAGE */
#endif
    uint16_t column; /* of the register: where the next byte is fetched */
#if COLLAPSES_REFERENCES
    entry_t current; /* the page of the last reference, or NO_PAGE */
#endif
#if !POLICY_IS(LRU)
    stored_frame hand; /* the place of the next candidate; fifo-sc: the oldest frame of the ring */
#endif
    stored_frame used; /* frames that have held a page: the first ones */
#if HAS_SECOND_CHANCE
    stored_frame valid_from; /* the oldest frame of the valid list */
    stored_frame valid;      /* length of the valid list */
#endif
#if HAS_TWO_BUFFERS
    uint8_t buffer; /* the current one: 0 or 1 */
#endif
#if POLICY_IS(RANDOM)
    uint32_t random; /* the generator */
#endif
#if FP_PAGER_HEADER
    struct fp_pager_image image; /* its length is 0 unless the last start found it */
#elif FP_PAGER_TAG_BYTES
    uint32_t version; /* of the image, as the tags must have it */
#endif
#if HAS_GUARD
    volatile uint8_t serving; /* 1 while a call runs */
#endif
#if HAS_CONTEXT
    uintptr_t context; /* that called fp_pager_start() */
#endif
#if FP_PAGER_WINDOWS
    volatile stored_frame window[FP_PAGER_WINDOWS]; /* see held.h */
#endif
#if HAS_CRITICAL_BLOCK
    uint8_t block;           /* the block of the faulting page that the program wants */
    uint8_t comes_whole;     /* 1 if the next page comes whole, as the rest of one failed */
    uint8_t rest_block;      /* the block of rest_page that is there already */
    stored_frame rest_frame; /* the frame that the rest of rest_page goes to */
    entry_t rest_page;       /* the page whose rest is on its way, or NO_PAGE */
#endif
    entry_t entry[FP_PAGER_MOST_FRAMES]; /* what each frame holds */
#if KEEPS_ORDER
    stored_frame order[FP_PAGER_MOST_FRAMES]; /* frames by place; sieve: oldest, lru: newest first */
#endif
#if HAS_SECOND_CHANCE
    /* A ring of all frames in use, from the oldest of the invalid list to the newest of the valid
     * one. A page that moves down to the invalid list stays where it is. */
    stored_frame newer[FP_PAGER_MOST_FRAMES];
    stored_frame older[FP_PAGER_MOST_FRAMES];
#endif
#if LOOKUP_IS(TABLE)
    stored_frame table[FP_PAGER_MOST_PAGES]; /* by page: its frame + 1, or 0 */
#elif LOOKUP_IS(HINT)
    stored_frame hint[FP_PAGER_HINTS_]; /* by the last bits of a page: the frame to try first */
#endif
} pager;

#endif
