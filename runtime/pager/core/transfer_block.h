/*
 * The critical block of a page first; DMA brings the rest while the program goes on. See transfer.h.
 */
static inline uint_fast8_t wanted_block(void)
{
    return pager.block;
}

static inline int fetch_bytes(fp_page page, frame_t frame, uint_fast8_t block, uint_fast16_t start,
                              uint8_t *to, uint_fast16_t size)
{
    const uint_fast16_t at =
        pager.comes_whole ? 0 : (uint_fast16_t)(block * FP_PAGER_CRITICAL_BYTES);
    const uint_fast16_t first = pager.comes_whole ? size : FP_PAGER_CRITICAL_BYTES;
    int error;
    fp_flash_column(start + at);
    error = fp_flash_fetch(to + at, first);
    if (!error && !pager.comes_whole) {
        fp_flash_fetch_rest(to, start, at);
        pager.rest_page = (entry_t)page;
        pager.rest_frame = (stored_frame)frame;
        pager.rest_block = (uint8_t)block;
    }
    return error;
}

static inline void page_has_come(void)
{
    pager.comes_whole = 0;
}

static inline void start_rest(void)
{
    pager.rest_page = NO_PAGE;
    (void)fp_flash_rest_wait();
}

/* If the rest cannot be read, its frame becomes empty: the next access faults for all of the page. */
static FP_PAGER_OUT_OF_LINE_ void finish_rest(void)
{
    const entry_t page = pager.rest_page;
    const frame_t frame = pager.rest_frame;
    int error;
    if (page == NO_PAGE)
        return;
    error = fp_flash_rest_wait();
    pager.rest_page = NO_PAGE;
    /* The frame may have been given away. */
    if (PAGE_OF(pager.entry[frame]) != page)
        return;
    if (error) {
        pager.comes_whole = 1;
        evict_frame(frame);
        FP_PAGER_COUNT_(retries, 1);
        return;
    }
    if (INSERTED_BIT && !(pager.entry[frame] & REFERENCED))
        return;
    fp_mmu_map(page, frame);
}

static inline int is_rest_page(fp_page page)
{
    return page == pager.rest_page;
}

static inline int is_rest_wanted(fp_page page)
{
    return page == pager.rest_page && pager.block != pager.rest_block;
}

static inline int has_rest_come(void)
{
    return fp_flash_rest_is_there();
}

static inline int is_rest_consistent(void)
{
    return pager.rest_page == NO_PAGE ||
           (pager.rest_frame < FP_PAGER_FRAMES &&
            pager.rest_block < FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES);
}
