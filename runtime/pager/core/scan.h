/* The scan of policies whose order does not change on a hit: a reference moves no frame. See policy.h. */
#ifndef FLASHPAGER_CORE_SCAN_H
#define FLASHPAGER_CORE_SCAN_H

static inline frame_t scan_frames(fp_page page, stored_frame *hint)
{
    frame_t hit = 0;
    for (frame_t frame = pager.used; frame > 0; frame--) {
        if (PAGE_OF(pager.entry[frame - 1]) == page) {
            *hint = (stored_frame)(frame - 1);
            hit = frame;
            break;
        }
    }
    return hit;
}

static inline void frame_found(frame_t frame)
{
    (void)frame;
}

#endif
