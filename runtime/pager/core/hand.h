/*
 * The walk of a hand: it clears reference bits until it finds one that is clear
 *
 * For clock, pa-clock and sieve. WALK_BUDGET is the number of the examined frame that is the victim
 * whatever its bit says, or 0 if there is no limit.
 */
#ifndef FLASHPAGER_CORE_HAND_H
#define FLASHPAGER_CORE_HAND_H

#include "reference_bit.h"
#include "ring.h"

static inline void begin_search(struct victim_search *search)
{
    (void)search;
}

static inline void search_victim(struct victim_search *search)
{
    frame_t place = pager.hand;
    for (;;) {
        if (is_held(frame_at(place))) {
            place = next_place(place);
            continue;
        }
        search->walk++;
        STEP_DONE();
        if (!(pager.entry[frame_at(place)] & REFERENCED))
            break;
        if (WALK_BUDGET && search->walk == WALK_BUDGET)
            break;
        clear_reference_bit(frame_at(place));
        place = next_place(place);
    }
    search->place = place;
}

static inline void restore_policy(struct victim_search *search)
{
    frame_t place = pager.hand;
    uint_fast16_t walk = search->walk;
    for (; walk > 1; place = next_place(place)) {
        if (is_held(frame_at(place)))
            continue;
        set_reference_bit(frame_at(place));
        walk--;
    }
}

#endif
