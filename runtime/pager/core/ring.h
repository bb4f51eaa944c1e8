/* The places form a ring, round which a hand moves. */
#ifndef FLASHPAGER_CORE_RING_H
#define FLASHPAGER_CORE_RING_H

static inline frame_t next_place(frame_t place)
{
    place++;
    return place == FP_PAGER_FRAMES ? 0 : place;
}

#endif
