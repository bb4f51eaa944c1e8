/* Slots in a serial NOR, with the fewest blocks of a journal and a header of two flash pages: see
 * pager_slots.h. */
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 32
#define FP_PAGER_FLASH_PAGE_BYTES 32
#define FP_PAGER_BLOCK_PAGES 4
#define FP_PAGER_IMAGE_BYTES 200
#define FP_SLOTS_BLOCKS 3
#define FP_SLOTS_JOURNAL_BLOCKS 3
#include "pager_slots.h"

static void cut_anywhere(void)
{
    live(test_first(), test_rounds(100000));
}

static void cut_at_each(void)
{
    cut_everywhere(test_rounds(4));
}

static const struct test tests[] = {
    {"pager_slots_nor_cut_anywhere", cut_anywhere},
    {"pager_slots_nor_cut_at_each", cut_at_each},
    {"pager_slots_nor_read_whole_once", read_whole_once},
    {"pager_slots_nor_worn_journal", worn_journal},
    {"pager_slots_nor_begin_after_failure", begin_after_failure},
    {NULL, NULL},
};

TEST_LIST(tests)
