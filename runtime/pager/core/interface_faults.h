/* The interface behind an MMU: faults. Its manual is mmu/flashpager_mmu.h. */
#include "reference_bit.h"

static inline int serve_fault(fp_page page)
{
    uint_fast16_t frame = page < FP_PAGER_PAGES ? find_frame(page) : 0;
    if (frame && is_rest_wanted(page)) {
        FP_PAGER_COUNT_(rest_faults, 1);
        finish_rest();
        frame = find_frame(page);
    }
    if (!frame--) {
        int error = page < FP_PAGER_PAGES ? fetch_page(page) : FP_PAGER_OUTSIDE;
        if (error && page < FP_PAGER_PAGES) {
            /* As before the fault: fp_flash_failed() may leave by longjmp(), or fault itself. */
            set_serving(0);
            error = fp_flash_failed(page, error);
            set_serving(1);
            if (!error)
                return serve_fault(page);
        }
        FP_PAGER_COUNT_(references, !error);
        FP_PAGER_COUNT_(misses, !error);
        return error;
    }
    if (!INSERTED_BIT || pager.entry[frame] & REFERENCED) {
        /* It is mapped already. If the page table does not say so, it would fault for ever. */
        if (FP_PAGER_CHECKS)
            map_page(page, (frame_t)frame);
        return FP_PAGER_OK;
    }
    FP_PAGER_COUNT_(references, 1);
    FP_PAGER_COUNT_(false_faults, 1);
    set_reference_bit((frame_t)frame);
    false_fault((frame_t)frame);
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_pager_fault(fp_page page)
{
    int error = begin_fault();
    if (error)
        return error;
    set_serving(1);
    error = serve_fault(page);
    set_serving(0);
    return error;
}

#if FP_PAGER_CRITICAL_BYTES
FP_PAGER_API int fp_pager_fault_at(fp_offset offset)
{
    const fp_page page = PAGE_AT(offset);
    int error;
    pager.block = (uint8_t)(offset % FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES);
    error = fp_pager_fault(page);
    pager.block = 0;
    return error;
}
#endif

FP_PAGER_API const uint8_t *fp_pager_peek(fp_page page)
{
    uint_fast16_t frame = page < FP_PAGER_PAGES ? find_frame(page) : 0;
    if (frame && is_rest_page(page)) {
        if (!has_rest_come())
            return NULL;
        finish_rest();
        frame = find_frame(page);
    }
    return frame ? frame_bytes((frame_t)(frame - 1u)) : NULL;
}
