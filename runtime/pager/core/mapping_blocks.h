/* An MMU that maps a page by blocks while its rest is on its way, through the port. See mapping.h. */
static inline uint8_t *frame_bytes(frame_t frame)
{
    return fp_mmu_bytes(frame);
}

static inline void map_page(fp_page page, frame_t frame)
{
    if (page == pager.rest_page) {
        fp_mmu_map_block(page, frame, pager.rest_block);
        return;
    }
    fp_mmu_map(page, frame);
}

static inline void map_early(fp_page page, frame_t frame, uint_fast8_t block)
{
    fp_mmu_map_block(page, frame, block);
}

static inline void invalidate_page(fp_page page, frame_t frame)
{
    fp_mmu_invalidate(page, frame);
}

static inline void unmap_page(fp_page page)
{
    fp_mmu_unmap(page);
}
