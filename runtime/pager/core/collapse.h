/*
 * Consecutive references to one page, which are one reference
 *
 *   is_new_reference(page)   0 if the reference before was to the same page
 *   reference_made(page)     a reference has succeeded
 *   part_references()        the next reference is a new one, whatever its page
 */
#ifndef FLASHPAGER_CORE_COLLAPSE_H
#define FLASHPAGER_CORE_COLLAPSE_H

#if COLLAPSES_REFERENCES
static inline int is_new_reference(fp_page page)
{
    return page != pager.current;
}

static inline void reference_made(fp_page page)
{
    pager.current = page;
}

static inline void part_references(void)
{
    pager.current = NO_PAGE;
}
#else
static inline int is_new_reference(fp_page page)
{
    (void)page;
    return 1;
}

static inline void reference_made(fp_page page)
{
    (void)page;
}

static inline void part_references(void)
{
}
#endif

#endif
