/* Without an MMU: the frames are an array, and the functions that map do nothing. See mapping.h. */
FETCHED_INTO uint8_t frames[FP_PAGER_MOST_FRAMES * 1ul * FP_PAGER_MOST_PAGE_BYTES];

static inline uint8_t *frame_bytes(frame_t frame)
{
#if defined(__AVR_HAVE_MUL__) && FP_PAGER_MOST_FRAMES <= 255 && FP_PAGER_MOST_PAGE_BYTES <= 128
    /* An AVR multiplies faster than it shifts. The compiler must not know that it could shift. */
    uint8_t page_bytes = FP_PAGER_PAGE_BYTES;
    __asm__("" : "+r"(page_bytes));
    return frames + (uint16_t)(frame * page_bytes);
#else
    return frames + frame * (size_t)FP_PAGER_PAGE_BYTES;
#endif
}

static inline void map_page(fp_page page, frame_t frame)
{
    (void)page;
    (void)frame;
}

static inline void map_early(fp_page page, frame_t frame, uint_fast8_t block)
{
    (void)page;
    (void)frame;
    (void)block;
}

static inline void invalidate_page(fp_page page, frame_t frame)
{
    (void)page;
    (void)frame;
}

static inline void unmap_page(fp_page page)
{
    (void)page;
}
