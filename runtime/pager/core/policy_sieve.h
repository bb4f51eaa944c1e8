/* sieve: pages in the order in which they came in, one hand, reference bits. See policy.h. */
#define INSERTED_BIT 0u
#define WALK_BUDGET 0

struct victim_search {
    frame_t place;
    uint_fast16_t walk;
};

#include "order.h"
#include "hand.h"
#include "scan.h"

static inline void start_policy(void)
{
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    if (all_used) {
        /* The next newer page slips to the place of the victim. */
        const frame_t place = search->place, frame = frame_at(place);
        const frame_t newest = FP_PAGER_FRAMES - 1;
        memmove(pager.order + place, pager.order + place + 1,
                (size_t)(newest - place) * sizeof(pager.order[0]));
        pager.order[newest] = (stored_frame)frame;
        pager.hand = place == newest ? 0 : place;
    }
}

static inline void page_hit(frame_t frame)
{
    pager.entry[frame] |= REFERENCED;
}
