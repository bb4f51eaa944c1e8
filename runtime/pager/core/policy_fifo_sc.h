/*
 * fifo-sc and pa-fifo-sc: two lists by age, valid and invalid. See policy.h.
 *
 * The frames are one ring, from the oldest invalid page to the newest valid one. A page is valid if
 * its reference bit is set. fifo-sc keeps the valid list at FP_PAGER_VALID pages; pa-fifo-sc lets false
 * faults lengthen it until the next true fault.
 */
#define INSERTED_BIT REFERENCED

#include "places.h"
#include "reference_bit.h"

struct victim_search {
    frame_t place;
    uint_fast16_t walk; /* always 0 */
    frame_t downgrades; /* pages that moved to the invalid list */
};

static inline void start_policy(void)
{
}

/* Moves the oldest valid pages to the invalid list while there are more than `most`. Returns how
 * many it moved. */
static inline frame_t downgrade_pages(frame_t most)
{
    frame_t downgrades = 0;
    for (; pager.valid > most; pager.valid--, downgrades++) {
        clear_reference_bit(pager.valid_from);
        pager.valid_from = pager.newer[pager.valid_from];
    }
    return downgrades;
}

/* Puts a frame that is in no list into the ring, as the newest. */
static inline void link_newest(frame_t frame)
{
    const frame_t newest = pager.older[pager.hand];
    pager.newer[frame] = (stored_frame)pager.hand;
    pager.older[frame] = (stored_frame)newest;
    pager.newer[newest] = pager.older[pager.hand] = (stored_frame)frame;
}

/* Adds the newest frame of the ring to the valid list. */
static inline void make_valid(frame_t frame)
{
    if (!pager.valid++)
        pager.valid_from = frame;
}

/* The page that comes in will be valid: room for it is made while the flash loads. */
static inline void begin_search(struct victim_search *search)
{
    search->downgrades = downgrade_pages((frame_t)(FP_PAGER_VALID - 1u));
}

static inline void search_victim(struct victim_search *search)
{
    search->place = pager.hand;
}

static inline void restore_policy(struct victim_search *search)
{
    for (; search->downgrades > 0; search->downgrades--, pager.valid++) {
        pager.valid_from = pager.older[pager.valid_from];
        set_reference_bit(pager.valid_from);
    }
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    const frame_t frame = search->place;
    /* The victim was the oldest: where the ring begins behind it, it is the newest. */
    if (all_used)
        pager.hand = pager.newer[frame];
    else
        link_newest(frame);
    make_valid(frame);
    FP_PAGER_COUNT_(downgrades, search->downgrades);
}

static inline void false_fault(frame_t frame)
{
    if (frame == pager.hand) {
        pager.hand = pager.newer[frame];
    } else {
        pager.newer[pager.older[frame]] = pager.newer[frame];
        pager.older[pager.newer[frame]] = pager.older[frame];
        link_newest(frame);
    }
    make_valid(frame);
    if (POLICY_IS(FIFO_SC)) {
        const frame_t downgrades = downgrade_pages((frame_t)FP_PAGER_VALID);
        FP_PAGER_COUNT_(downgrades, downgrades);
        (void)downgrades;
    }
}

/* The ring must hold each used frame once, the invalid ones before the valid ones. No link is followed
 * before it is known to be a frame. */
static inline int is_policy_consistent(void)
{
    frame_t place = pager.hand;
    if (pager.hand >= FP_PAGER_FRAMES || pager.valid > pager.used ||
        (!pager.used && (place || pager.older[0])))
        return 0;
    for (frame_t i = 0; i < pager.used; i++) {
        const int is_valid = i + pager.valid >= pager.used;
        const entry_t entry = pager.entry[place];
        if ((i && place == pager.hand) || pager.newer[place] >= pager.used ||
            pager.older[pager.newer[place]] != place)
            return 0;
        if (is_valid ? !(entry & REFERENCED) && PAGE_OF(entry) != NO_PAGE
                     : (entry & REFERENCED) != 0)
            return 0;
        if (i + pager.valid == pager.used && place != pager.valid_from)
            return 0;
        place = pager.newer[place];
    }
    return !pager.used || place == pager.hand;
}
