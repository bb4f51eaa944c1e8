/* Places in an order that the policy keeps. At the start it is the order of the frames. */
#ifndef FLASHPAGER_CORE_ORDER_H
#define FLASHPAGER_CORE_ORDER_H

static inline frame_t frame_at(frame_t place)
{
    return (frame_t)pager.order[place];
}

static inline void start_place(frame_t place)
{
    pager.order[place] = (stored_frame)place;
}

#endif
