/*
 * The reference bit of a frame
 *
 * An MMU that has no such bit has it emulated: the page of a frame whose bit is clear is invalid, and
 * the next access to it faults.
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
