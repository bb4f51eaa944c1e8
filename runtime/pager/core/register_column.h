/* random-column: the chip can change the column within the page that it holds. See register.h. */
static inline int turn_register(fp_flash_page page, uint_fast16_t start)
{
    int must_load;
    if (pager.held == page) {
        count_direction(start);
        must_load = 0;
    } else {
        FP_PAGER_COUNT_(other_page, 1);
        must_load = 1;
    }
    return must_load;
}

static inline void load_register(fp_flash_page page, uint_fast16_t start)
{
    pager.column = HAS_HOMES ? 0 : start;
    fp_flash_load(physical_page(page), pager.column);
}

/* After a tag was read the column is in the spare area, unless a page was loaded since. */
static inline void seek_column(uint_fast16_t start, int loaded)
{
    if (start != pager.column || (FP_PAGER_TAG_BYTES && !loaded)) {
        FP_PAGER_COUNT_(column_changes, 1);
        fp_flash_column(start);
    }
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
