/* sequential, start-column: bytes up to a column are fetched and thrown away. See register.h. */
static inline int turn_register(fp_flash_page page, uint_fast16_t start)
{
    int must_load;
    if (pager.held == page) {
        count_direction(start);
        must_load = start < pager.column;
    } else {
        FP_PAGER_COUNT_(other_page, 1);
        must_load = 1;
    }
    return must_load;
}

static inline void load_register(fp_flash_page page, uint_fast16_t start)
{
    pager.column = REGISTER_IS(SEQUENTIAL) || HAS_HOMES ? 0 : start;
    fp_flash_load(physical_page(page), pager.column);
}

static inline void seek_column(uint_fast16_t start, int loaded)
{
    (void)loaded;
    if (start != pager.column)
        fp_flash_skip(start - pager.column);
    FP_PAGER_COUNT_(bytes_skipped, start - pager.column);
    FP_PAGER_COUNT_(bytes_fetched, start - pager.column);
}

static inline void load_next(fp_flash_page page)
{
    (void)page;
}

static inline void forget_other_buffer(void)
{
}

static inline void settle_register(void)
{
}
