/* The page table of the MMU, which the port keeps. See lookup.h. */
static inline uint_fast16_t find_frame(fp_page page)
{
    return fp_mmu_frame(page);
}

static inline void remember_page(fp_page page, frame_t frame)
{
    /* The schedule parallel-mmu has mapped the page early; with critical blocks, one block of it only. */
    if (HAS_CRITICAL_BLOCK || !SCHEDULE_IS(PARALLEL_MMU))
        map_page(page, frame);
}

static inline void forget_page(fp_page page)
{
    unmap_page(page);
}
