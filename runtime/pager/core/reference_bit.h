/*
 * The reference bit of a frame
 *
 * Behind an MMU without reference bits the pager emulates them: it makes the page of a frame whose bit is
 * clear invalid, so that the next access to the page faults.
 */
#ifndef FLASHPAGER_CORE_REFERENCE_BIT_H
#define FLASHPAGER_CORE_REFERENCE_BIT_H

static inline void set_reference_bit(frame_t frame)
{
    pager.entry[frame] |= (entry_t)REFERENCED;
    if (PAGE_OF(pager.entry[frame]) != NO_PAGE)
        map_page(PAGE_OF(pager.entry[frame]), frame);
}

static inline void clear_reference_bit(frame_t frame)
{
    pager.entry[frame] &= (entry_t)~REFERENCED;
    if (PAGE_OF(pager.entry[frame]) != NO_PAGE)
        invalidate_page(PAGE_OF(pager.entry[frame]), frame);
}

#endif
