/* fifo: the frames in a ring; the victim is the page that came in first. See policy.h. */
#define INSERTED_BIT 0u

#include "places.h"
#include "ring.h"
#include "scan.h"

struct victim_search {
    frame_t place;
    uint_fast16_t walk; /* always 0 */
};

static inline void start_policy(void)
{
}

static inline void begin_search(struct victim_search *search)
{
    (void)search;
}

static inline void search_victim(struct victim_search *search)
{
    search->place = pager.hand;
    while (is_held(search->place))
        search->place = next_place(search->place);
}

static inline void restore_policy(struct victim_search *search)
{
    (void)search;
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    if (all_used)
        pager.hand = next_place(search->place);
}

static inline void page_hit(frame_t frame)
{
    (void)frame;
}

static inline void false_fault(frame_t frame)
{
    (void)frame;
}

static inline int is_policy_consistent(void)
{
    return pager.hand < FP_PAGER_FRAMES;
}
