/*
 * The pager for a Linux program's file, with the policy that the including file defines
 *
 * The frames are memory of the library. A valid page is copied from its frame to where the program
 * executes it, and removed from there when it becomes invalid: userfaultfd serves private memory by
 * copies.
 */
#include "page.h"

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_LOOKUP FP_PAGER_MMU
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_PAGE_BYTES PAGE_BYTES
#define FP_PAGER_FLASH_PAGE_BYTES PAGE_BYTES
#define FP_PAGER_FRAMES ((uint_fast16_t)fp_page_code.frames)
#define FP_PAGER_IMAGE_BYTES (fp_page_code.bytes)
#define FP_PAGER_WALK_BUDGET (fp_page_code.parameter)
#define FP_PAGER_SEED (fp_page_code.parameter)
#define FP_PAGER_VALID ((uint_fast16_t)fp_page_code.parameter)
#define FP_PAGER_SIZES_VARY
#define FP_PAGER_MOST_FRAMES MOST_FRAMES
#define FP_PAGER_MOST_PAGES MOST_PAGES
#define FP_PAGER_MOST_PAGE_BYTES PAGE_BYTES
#define FP_PAGER_MOST_CODEWORD_BYTES 0
#include "../pager.c"

static struct {
    uint32_t page, column;
} held;

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    held.page = (uint32_t)page;
    held.column = (uint32_t)column;
}

FP_PAGER_API int fp_flash_wait(void)
{
    return FP_PAGER_OK;
}

FP_PAGER_API void fp_flash_column(uint_fast16_t column)
{
    held.column = (uint32_t)column;
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    fp_page_copy(to, fp_page_code.flash + (size_t)held.page * PAGE_BYTES + held.column, size);
    held.column += (uint32_t)size;
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame)
{
    return fp_page_code.memory + (size_t)frame * PAGE_BYTES;
}

FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page)
{
    return fp_page_code.frame[page];
}

FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    fp_page_code.frame[page] = (uint16_t)(frame + 1);
    fp_page_code.is_mapped[page] = 1;
    fp_page_map((uint32_t)page, fp_mmu_bytes(frame));
}

FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    (void)frame;
    if (fp_page_code.is_mapped[page])
        fp_page_unmap((uint32_t)page);
    fp_page_code.is_mapped[page] = 0;
}

FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    fp_mmu_invalidate(page, 0);
    fp_page_code.frame[page] = 0;
}

static int fault(uint32_t page)
{
    return fp_pager_fault(page);
}

static void report_counts(struct page_report *report)
{
    const struct fp_pager_stat *counts = fp_pager_stat();
    report->misses = counts->misses;
    report->false_faults = counts->false_faults;
    report->reference_bits_set = counts->reference_bits_set;
    report->downgrades = counts->downgrades;
    report->walk = counts->walk;
    report->max_walk = counts->max_walk;
}

#define POLICY_PAGER(name) { name, fp_pager_start, fault, report_counts }
