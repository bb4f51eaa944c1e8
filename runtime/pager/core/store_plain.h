/* plain: the image as it is. See store.h. A range never changes. */
typedef const struct fetch_range fetch_range_t;

static inline struct fetch_range range_of(fp_page page)
{
    struct fetch_range range;
    range.page = page;
    range.flash_page = (fp_flash_page)(page / PAGES_PER_FLASH_PAGE);
    range.column = (uint_fast16_t)(page % PAGES_PER_FLASH_PAGE * FP_PAGER_PAGE_BYTES);
    range.start = range.column & (uint_fast16_t)~(CODEWORD_BYTES - 1u);
    range.stop = (range.column + FP_PAGER_PAGE_BYTES + CODEWORD_BYTES - 1u) &
                 (uint_fast16_t)~(CODEWORD_BYTES - 1u);
    range.block = wanted_block();
    return range;
}

static inline void find_range(const struct fetch_range *range)
{
    (void)range;
}

static inline int read_home_header(const struct fetch_range *range)
{
    (void)range;
    return FP_PAGER_OK;
}
