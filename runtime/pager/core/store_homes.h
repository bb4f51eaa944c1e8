/* homes: a flash page for each cache page, which also holds pages that miss next. See store.h. */
typedef struct fetch_range fetch_range_t;

/* A slot of a home. */
#if FP_PAGER_HOME_SLOTS < 256
typedef uint_fast8_t slot_t;
#else
typedef uint_fast16_t slot_t;
#endif
#define NO_SLOT FP_PAGER_HOME_SLOTS

/* The number of slots that start-column looks at, from the next one on. */
#if REGISTER_IS(START_COLUMN) && FP_PAGER_MOST_SKIPPED < FP_PAGER_HOME_SLOTS
#define SLOTS_IN_REACH (FP_PAGER_MOST_SKIPPED + 1)
#else
#define SLOTS_IN_REACH FP_PAGER_HOME_SLOTS
#endif

/* The header of the home in the register, as it lies in flash. */
FETCHED_INTO uint8_t home_header[(FP_PAGER_HOME_HEADER_BYTES + FP_PAGER_ALIGN - 1) / FP_PAGER_ALIGN *
                            FP_PAGER_ALIGN];

/* Returns the number of the page in a slot; no page has the number of an empty slot. */
static inline fp_page page_in_slot(slot_t slot)
{
#if FP_PAGER_HOME_NUMBER_BYTES == 1
    return home_header[slot];
#else
    return (fp_page)(home_header[2u * slot] | (uint_fast16_t)home_header[2u * slot + 1u] << 8);
#endif
}

/* Returns the first slot from `slot` to before `end` that holds a page, or NO_SLOT. */
static inline slot_t search_slots(fp_page page, slot_t slot, slot_t end)
{
    for (; slot < end; slot++)
        if (page_in_slot(slot) == page)
            return slot;
    return NO_SLOT;
}

/* Returns the slot behind the last one that start-column may skip to. */
static inline slot_t end_of_reach(slot_t next)
{
    const slot_t rest = (slot_t)(FP_PAGER_HOME_SLOTS - next);
    return (slot_t)(next + (rest < SLOTS_IN_REACH ? rest : SLOTS_IN_REACH));
}

/* Returns the slot from which the register serves a page, or NO_SLOT. */
static inline slot_t find_slot(fp_page page)
{
    const slot_t next = (slot_t)((pager.column - FP_PAGER_HOME_HEADER_BYTES) / FP_PAGER_PAGE_BYTES);
    if (pager.held == NO_FLASH_PAGE)
        return NO_SLOT;
    if (REGISTER_IS(RANDOM_COLUMN)) {
        if (next < FP_PAGER_HOME_SLOTS && page_in_slot(next) == page)
            return next;
        return search_slots(page, 0, FP_PAGER_HOME_SLOTS);
    }
    return search_slots(page, next, end_of_reach(next));
}

/* Returns the bytes of a slot of a home. */
static inline struct fetch_range range_of_slot(fp_page page, fp_flash_page home, slot_t slot)
{
    struct fetch_range range;
    range.page = page;
    range.flash_page = home;
    range.column = (uint_fast16_t)(FP_PAGER_HOME_HEADER_BYTES +
                                   (uint_fast16_t)slot * FP_PAGER_PAGE_BYTES);
    range.start = range.column;
    range.stop = range.column + FP_PAGER_PAGE_BYTES;
    range.block = wanted_block();
    return range;
}

static inline struct fetch_range range_of(fp_page page)
{
    return range_of_slot(page, (fp_flash_page)page, 0);
}

/* A home that does not serve the page is forgotten, even if it is the page's own: a load of the same home
 * counts as one of another page. */
static inline void find_range(struct fetch_range *range)
{
    const slot_t slot = find_slot(range->page);
    if (slot == NO_SLOT) {
        pager.held = NO_FLASH_PAGE;
        *range = range_of(range->page);
    } else {
        *range = range_of_slot(range->page, pager.held, slot);
    }
}

/* Fetches the header, and checks that it is the home's. */
static inline int read_home_header(const struct fetch_range *range)
{
    const int error = fp_flash_fetch(home_header, FP_PAGER_HOME_HEADER_BYTES);
    pager.column = FP_PAGER_HOME_HEADER_BYTES;
    FP_PAGER_COUNT_(header_bytes_fetched, FP_PAGER_HOME_HEADER_BYTES);
    FP_PAGER_COUNT_(bytes_fetched, FP_PAGER_HOME_HEADER_BYTES);
    if (error)
        return error;
    return page_in_slot(0) == range->page ? FP_PAGER_OK : FP_PAGER_CORRUPT;
}
