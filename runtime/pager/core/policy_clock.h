/* clock and pa-clock: the frames in a ring, one hand, reference bits. See policy.h. */
#define INSERTED_BIT REFERENCED
#if POLICY_IS(PA_CLOCK)
#define WALK_BUDGET FP_PAGER_WALK_BUDGET
#else
#define WALK_BUDGET 0
#endif

struct victim_search {
    frame_t place;
    uint_fast16_t walk;
};

#include "places.h"
#include "hand.h"
#include "scan.h"

static inline void start_policy(void)
{
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    if (all_used)
        pager.hand = next_place(search->place);
}

static inline void page_hit(frame_t frame)
{
    entry_t *entry = &pager.entry[frame];
    if (!(*entry & REFERENCED))
        FP_PAGER_COUNT_(reference_bits_set, 1);
    *entry |= REFERENCED;
}

static inline void false_fault(frame_t frame)
{
    (void)frame;
    FP_PAGER_COUNT_(reference_bits_set, 1);
}

static inline int is_policy_consistent(void)
{
    return pager.hand < FP_PAGER_FRAMES;
}
