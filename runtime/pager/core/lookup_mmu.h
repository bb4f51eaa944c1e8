/* The page table of the MMU, which the port keeps. See lookup.h. */
static inline uint_fast16_t find_frame(fp_page page)
{
    return fp_mmu_frame(page);
}

static inline void remember_page(fp_page page, frame_t frame)
{
    /* By parallel-mmu it is mapped already; but by blocks, of one block. */
    if (HAS_CRITICAL_BLOCK || !SCHEDULE_IS(PARALLEL_MMU))
        map_page(page, frame);
}

static inline void forget_page(fp_page page)
{
    unmap_page(page);
}
