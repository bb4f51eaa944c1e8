/* lru: pages in the order of their last reference, the newest first. See policy.h. */
#define INSERTED_BIT 0u

struct victim_search {
    frame_t place;
    uint_fast16_t walk; /* always 0 */
};

#include "order.h"

static inline void start_policy(void)
{
}

static void move_to_front(frame_t place)
{
    const frame_t frame = frame_at(place);
    memmove(pager.order + 1, pager.order, place * sizeof(pager.order[0]));
    pager.order[0] = (stored_frame)frame;
}

static inline void begin_search(struct victim_search *search)
{
    (void)search;
}

static inline void search_victim(struct victim_search *search)
{
    search->place = FP_PAGER_FRAMES - 1;
    while (is_held(frame_at(search->place)))
        search->place--;
}

static inline void restore_policy(struct victim_search *search)
{
    (void)search;
}

static inline void page_installed(const struct victim_search *search, int all_used)
{
    (void)all_used;
    move_to_front(search->place);
}

static inline frame_t scan_frames(fp_page page, stored_frame *hint)
{
    for (frame_t place = 0; place < pager.used; place++) {
        const frame_t frame = frame_at(place);
        if (PAGE_OF(pager.entry[frame]) == page) {
            *hint = (stored_frame)frame;
            move_to_front(place);
            return (frame_t)(frame + 1);
        }
    }
    return 0;
}

static inline void frame_found(frame_t frame)
{
    frame_t place = 0;
    while (frame_at(place) != frame)
        place++;
    move_to_front(place);
}

static inline void page_hit(frame_t frame)
{
    (void)frame;
}
