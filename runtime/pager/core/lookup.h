/*
 * The lookup: which frame holds a page
 *
 *   find_frame(page)             frame + 1, or 0; without an MMU it also notifies the policy
 *   remember_page(page, frame)   a page came into a frame
 *   forget_page(page)            a page has left its frame
 */
#ifndef FLASHPAGER_CORE_LOOKUP_H
#define FLASHPAGER_CORE_LOOKUP_H

#if LOOKUP_IS(TABLE)
#include "lookup_table.h"
#elif LOOKUP_IS(HINT)
#include "lookup_hint.h"
#elif LOOKUP_IS(SCAN)
#include "lookup_scan.h"
#else
#include "lookup_mmu.h"
#endif

/* Leaves a frame without a page. */
static inline void evict_frame(frame_t frame)
{
    const fp_page page = PAGE_OF(pager.entry[frame]);
    if (page != NO_PAGE)
        forget_page(page);
    pager.entry[frame] = NO_PAGE;
}

#endif
