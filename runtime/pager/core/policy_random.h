/* random: the victim is drawn by a generator, xorshift of 32 bits. See policy.h. */
#define INSERTED_BIT 0u

#include "places.h"
#include "ring.h"
#include "scan.h"

struct victim_search {
    frame_t place;
    uint_fast16_t walk; /* always 0 */
    uint32_t random;    /* the generator's state after the draw */
};

static inline void start_policy(void)
{
    pager.random = FP_PAGER_SEED ? (uint32_t)FP_PAGER_SEED : 2463534242u;
}

static inline void begin_search(struct victim_search *search)
{
    search->random = pager.random;
}

static inline void search_victim(struct victim_search *search)
{
    uint32_t x = pager.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    search->random = x;
    /* The upper half of a product of 64 bits, by products of 32. */
    search->place = (frame_t)(((x >> 16) * (uint32_t)FP_PAGER_FRAMES +
                               ((x & 0xffffu) * (uint32_t)FP_PAGER_FRAMES >> 16)) >> 16);
    while (is_held(search->place))
        search->place = next_place(search->place);
}

static inline void restore_policy(struct victim_search *search)
{
    (void)search;
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    (void)all_used;
    pager.random = search->random;
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
    return 1;
}
