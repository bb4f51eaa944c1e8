/* A table of all pages of the image. See lookup.h. */
static inline frame_t find_frame(fp_page page)
{
    const frame_t found = pager.table[page];
    if (found)
        frame_found(found - 1);
    return found;
}

static inline void remember_page(fp_page page, frame_t frame)
{
    pager.table[page] = (stored_frame)(frame + 1);
}

static inline void forget_page(fp_page page)
{
    pager.table[page] = 0;
}
