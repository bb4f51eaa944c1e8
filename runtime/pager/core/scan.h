/* References that move no frame: the scan of policies without an order by reference. See policy.h. */
#ifndef FLASHPAGER_CORE_SCAN_H
#define FLASHPAGER_CORE_SCAN_H

static inline frame_t scan_frames(fp_page page, stored_frame *hint)
{
    frame_t found = 0;
    for (frame_t frame = pager.used; frame > 0; frame--) {
        if (PAGE_OF(pager.entry[frame - 1]) == page) {
            *hint = (stored_frame)(frame - 1);
            found = frame;
            break;
        }
    }
    return found;
}

static inline void frame_found(frame_t frame)
{
    (void)frame;
}

#endif
