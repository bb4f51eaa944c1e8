/* double-buffer, double-buffer-prefetch: two pages, each at any column. See register.h. */
static inline int turn_register(fp_flash_page page, uint_fast16_t start)
{
    int must_load = 0;
    /* A prefetch goes on, unless the other buffer has the page. If it failed, that is no failure of
     * this fetch. */
    if (REGISTER_IS(DOUBLE_BUFFER_PREFETCH) && page != pager.held && fp_flash_wait() < 0)
        pager.held = pager.other_held = NO_FLASH_PAGE;
    if (pager.held == page) {
        count_direction(start);
    } else {
        must_load = page != pager.other_held;
        pager.buffer ^= 1u;
        fp_flash_buffer(pager.buffer);
        pager.other_held = pager.held;
        if (must_load)
            FP_PAGER_COUNT_(other_page, 1);
        else
            FP_PAGER_COUNT_(other_buffer, 1);
    }
    return must_load;
}

static inline void load_register(fp_flash_page page, uint_fast16_t start)
{
    (void)start;
    pager.column = 0;
    fp_flash_load(physical_page(page), pager.column);
}

/* A critical block has a column of its own: see transfer_block.h. */
static inline void seek_column(uint_fast16_t start, int loaded)
{
    (void)loaded;
    if (!HAS_CRITICAL_BLOCK)
        fp_flash_column(start);
}

#if REGISTER_IS(DOUBLE_BUFFER_PREFETCH)
static inline void load_next(fp_flash_page page)
{
    if (page < LAST_FLASH_PAGE && pager.other_held != page + 1u) {
        FP_PAGER_COUNT_(prefetches, 1);
        pager.other_held = page + 1u;
        fp_flash_load_ahead(physical_page(pager.other_held));
    }
}
#else
static inline void load_next(fp_flash_page page)
{
    (void)page;
}
#endif

static inline void forget_other_buffer(void)
{
    pager.other_held = NO_FLASH_PAGE;
}

static inline void settle_register(void)
{
    if (REGISTER_IS(DOUBLE_BUFFER_PREFETCH))
        (void)fp_flash_wait();
}
