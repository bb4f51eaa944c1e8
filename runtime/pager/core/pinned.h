/* Pinned pages: the first pages of the image, which have RAM of their own and never leave it. */
#ifndef FLASHPAGER_CORE_PINNED_H
#define FLASHPAGER_CORE_PINNED_H

#if FP_PAGER_PINNED_PAGES
FETCHED_INTO uint8_t pinned[FP_PAGER_PINNED_PAGES * 1ul * FP_PAGER_PAGE_BYTES];

static inline int is_pinned(fp_page page)
{
    return page < FP_PAGER_PINNED_PAGES;
}

static inline uint8_t *pinned_bytes(fp_page page)
{
    return pinned + page * (size_t)FP_PAGER_PAGE_BYTES;
}
#else
static inline int is_pinned(fp_page page)
{
    (void)page;
    return 0;
}

static inline uint8_t *pinned_bytes(fp_page page)
{
    (void)page;
    return NULL;
}
#endif

#endif
