/* Tries first the frame that a hint has for the last bits of the page, then all frames. See lookup.h. */
static inline frame_t find_frame(fp_page page)
{
    stored_frame *hint = &pager.hint[page % FP_PAGER_HINTS_];
    const frame_t guess = *hint;
    if (PAGE_OF(pager.entry[guess]) == page) {
        frame_found(guess);
        return (frame_t)(guess + 1);
    }
    return scan_frames(page, hint);
}

static inline void remember_page(fp_page page, frame_t frame)
{
    pager.hint[page % FP_PAGER_HINTS_] = (stored_frame)frame;
}

/* A hint is compared with the entry of its frame, so that it may be wrong. */
static inline void forget_page(fp_page page)
{
    (void)page;
}
