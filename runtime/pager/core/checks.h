/*
 * FP_PAGER_CHECKS: lists, entries and the page table must agree before a fault is served
 *
 *   begin_fault()       0, FP_PAGER_BUSY or FP_PAGER_DAMAGED
 */
#ifndef FLASHPAGER_CORE_CHECKS_H
#define FLASHPAGER_CORE_CHECKS_H

#if FP_PAGER_CHECKS
/* Returns 1 if lists, entries and the page table agree. No index is used before its range was checked. */
static int is_consistent(void)
{
    unsigned long mapped = 0, filled = 0;
    if (pager.used > FP_PAGER_FRAMES || !is_rest_consistent())
        return 0;
    for (fp_page page = 0; page < FP_PAGER_PAGES; page++) {
        const uint_fast16_t frame = fp_mmu_frame(page);
        if (frame > pager.used || (frame && PAGE_OF(pager.entry[frame - 1u]) != page))
            return 0;
        mapped += frame > 0;
    }
    for (frame_t frame = 0; frame < FP_PAGER_FRAMES; frame++)
        filled += PAGE_OF(pager.entry[frame]) != NO_PAGE;
    if (filled != mapped)
        return 0;
    return is_policy_consistent();
}

static inline int begin_fault(void)
{
    if (pager.serving)
        return FP_PAGER_BUSY;
    if (!is_consistent())
        return FP_PAGER_DAMAGED;
    return FP_PAGER_OK;
}
#else
static inline int begin_fault(void)
{
    return FP_PAGER_OK;
}
#endif

#endif
