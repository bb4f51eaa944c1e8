/*
 * Held frames: those on which a cursor has its window, which are no victims
 *
 *   is_held(frame)                   1 if a cursor holds the frame
 *   empty_window(cursor)             closes the cursor's window: 0, or FP_PAGER_FULL if it can have none
 *   hold_frame(cursor, page, bytes)  the cursor holds the frame that has these bytes of the page
 *
 * A cursor has an element of pager.window from its first byte until it is closed. Elements are taken and
 * filled within a call; one is freed without: that is a store of zero, after which the cursor reads
 * nothing. So a search may see a frame as held that no longer is, and never the reverse.
 */
#ifndef FLASHPAGER_CORE_HELD_H
#define FLASHPAGER_CORE_HELD_H

#if FP_PAGER_WINDOWS
#define FREE_WINDOW 0
#define EMPTY_WINDOW ((stored_frame)-1) /* taken, without a frame; other values are a frame + 1 */

static inline int is_held(frame_t frame)
{
    for (uint_fast8_t i = 0; i < FP_PAGER_WINDOWS; i++)
        if (pager.window[i] == frame + 1u)
            return 1;
    return 0;
}

static inline int empty_window(struct fp_cursor *cursor)
{
    uint_fast8_t i = cursor->window;
    if (!i) {
        while (i < FP_PAGER_WINDOWS && pager.window[i] != FREE_WINDOW)
            i++;
        if (i++ == FP_PAGER_WINDOWS)
            return FP_PAGER_FULL;
    }
    /* Without a window, if the page cannot be read or the port leaves by longjmp(). */
    cursor->at = cursor->end = NULL;
    cursor->window = (uint8_t)i;
    COMPILER_BARRIER();
    pager.window[i - 1u] = EMPTY_WINDOW;
    return FP_PAGER_OK;
}

/* Pinned pages never leave their RAM, so that nothing holds them. */
static inline void hold_frame(struct fp_cursor *cursor, fp_page page, const uint8_t *bytes)
{
    if (!is_pinned(page))
        pager.window[cursor->window - 1u] =
            (stored_frame)((size_t)(bytes - frames) / FP_PAGER_PAGE_BYTES + 1u);
}
#else
static inline int is_held(frame_t frame)
{
    (void)frame;
    return 0;
}
#endif

#endif
