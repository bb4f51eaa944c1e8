/* The interface without an MMU: pages and cursors. Its manual is flashpager_pager.h. */
/* Fetches a page that is in no frame. A fetch that fails parts the references before and after it. */
static inline int fetch_reference(fp_page page)
{
    int error;
    part_references();
    error = fetch_page(page);
    if (error)
        return error;
    reference_made(page);
    FP_PAGER_COUNT_(references, 1);
    FP_PAGER_COUNT_(misses, 1);
    return FP_PAGER_OK;
}

#if FP_PAGER_WINDOWS
#include "cursors_held.h"
#else
#include "cursors_one.h"
#endif

FP_PAGER_API int fp_pager_error(void)
{
    return pager.error;
}
