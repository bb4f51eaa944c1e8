/* All of a page at once. See transfer.h. */
static inline uint_fast8_t wanted_block(void)
{
    return 0;
}

static inline int fetch_bytes(fp_page page, frame_t frame, uint_fast8_t block, uint_fast16_t start,
                              uint8_t *to, uint_fast16_t size)
{
    (void)page;
    (void)frame;
    (void)block;
    (void)start;
    return fp_flash_fetch(to, size);
}

static inline void page_has_come(void)
{
}

static inline void start_rest(void)
{
}

static inline void finish_rest(void)
{
}

static inline int is_rest_page(fp_page page)
{
    (void)page;
    return 0;
}

static inline int is_rest_wanted(fp_page page)
{
    (void)page;
    return 0;
}

static inline int has_rest_come(void)
{
    return 1;
}

static inline int is_rest_consistent(void)
{
    return 1;
}
