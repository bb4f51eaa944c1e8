/*
 * Bad erase blocks, which the image passes by
 *
 *   physical_page(page)   the flash page of the chip that holds a flash page of the image
 *   chip_page(page)       the flash page of the chip, of one counted from the header on
 *   find_bad_blocks(pages)  at the start, for so many flash pages from the header on: 0 or an error
 */
#ifndef FLASHPAGER_CORE_BAD_BLOCKS_H
#define FLASHPAGER_CORE_BAD_BLOCKS_H

/* The first flash page of the chip that the header or the image lies in. */
#if FP_PAGER_SLOTS
#define FP_PAGER_FIRST_CHIP_PAGE_ ((fp_flash_page)fp_slots_first_page())
#else
#define FP_PAGER_FIRST_CHIP_PAGE_ 0u
#endif

#if FP_PAGER_BAD_BLOCKS
static fp_flash_page bad[FP_PAGER_BAD_BLOCKS]; /* ascending */
static uint_fast16_t bad_count;

static inline fp_flash_page chip_page(fp_flash_page page)
{
    const fp_flash_page block = page / FP_PAGER_BLOCK_PAGES;
    fp_flash_page physical_block = block;
    for (uint_fast16_t i = 0; i < bad_count && bad[i] <= physical_block; i++)
        physical_block++;
    return FP_PAGER_FIRST_CHIP_PAGE_ + page + (fp_flash_page)((physical_block - block) * FP_PAGER_BLOCK_PAGES);
}

static inline int find_bad_blocks(uint32_t pages)
{
    const fp_flash_page blocks = (fp_flash_page)((pages - 1u) / FP_PAGER_BLOCK_PAGES + 1u);
    bad_count = 0;
    for (fp_flash_page block = 0; block < blocks + bad_count; block++) {
        const int is_bad = fp_flash_is_bad(FP_PAGER_FIRST_CHIP_PAGE_ / FP_PAGER_BLOCK_PAGES + block);
        if (is_bad < 0)
            return is_bad;
        if (is_bad) {
            if (bad_count == FP_PAGER_BAD_BLOCKS)
                return FP_PAGER_BAD;
            bad[bad_count++] = block;
        }
    }
    return FP_PAGER_OK;
}
#else
static inline fp_flash_page chip_page(fp_flash_page page)
{
    return FP_PAGER_FIRST_CHIP_PAGE_ + page;
}

static inline int find_bad_blocks(uint32_t pages)
{
    (void)pages;
    return FP_PAGER_OK;
}
#endif

#if FP_PAGER_HEADER
static inline fp_flash_page physical_page(fp_flash_page page)
{
    return chip_page((fp_flash_page)(page + FP_PAGER_HEADER_PAGES));
}
#else
#define physical_page chip_page
#endif

#endif
