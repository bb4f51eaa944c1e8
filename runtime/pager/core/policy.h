/*
 * The policy: which frame the next page takes
 *
 * A policy is a header that defines:
 *
 *   INSERTED_BIT                     the reference bit of a new page: REFERENCED or 0
 *   struct victim_search             the result of a search, and the data of its rollback; at least
 *                                    `place`, and `walk`, the number of frames examined
 *   frame_at(place)                  the frame at a place
 *   start_place(place), start_policy()  at the start, when no frame holds a page
 *
 *   begin_search(search)             before each search
 *   search_victim(search)            sets the place of a victim; all frames are used
 *   restore_policy(search)           restores the state before the search
 *   page_installed(search, all_used) a page was installed in the frame of the search; `all_used` is 1 if
 *                                    the frame had held another page before
 *
 * Without an MMU, where the pager sees every reference:
 *
 *   scan_frames(page)                finds a page by all frames: frame + 1, or 0; a reference
 *   frame_found(frame)               a reference to a page that the lookup found without a scan
 *   page_hit(frame)                  a hit; consecutive references count as one
 *
 * Behind an MMU:
 *
 *   false_fault(frame)               a reference to a page whose reference bit was clear
 *   is_policy_consistent()           0 if the policy's state contradicts itself
 *
 * A search passes by held frames (held.h) as if they were in no list: they keep their bits, and are not
 * counted in `walk`. It changes reference bits and lists, but evicts no page: it runs while the flash
 * loads, and is rolled back if the page cannot be read.
 */
#ifndef FLASHPAGER_CORE_POLICY_H
#define FLASHPAGER_CORE_POLICY_H

#if POLICY_IS(FIFO)
#include "policy_fifo.h"
#elif POLICY_IS(CLOCK) || POLICY_IS(PA_CLOCK)
#include "policy_clock.h"
#elif POLICY_IS(SIEVE)
#include "policy_sieve.h"
#elif POLICY_IS(LRU)
#include "policy_lru.h"
#elif POLICY_IS(RANDOM)
#include "policy_random.h"
#else
#include "policy_fifo_sc.h"
#endif

/* Finds the place of a free frame or of a victim. */
static inline void select_victim(struct victim_search *search)
{
    search->walk = 0;
    search->place = pager.used;
    begin_search(search);
    if (pager.used != FP_PAGER_FRAMES)
        return;
    search_victim(search);
}

/* Takes a search back, as the page could not be read. If the victim's page is lost, its frame stays
 * the next victim, and its reference bit is clear. */
static inline void rollback_search(struct victim_search *search)
{
    restore_policy(search);
    entry_t *entry = &pager.entry[frame_at(search->place)];
    if (PAGE_OF(*entry) == NO_PAGE)
        *entry = NO_PAGE;
}

#endif
