/*
 * The torture finds a journal whose states have too few pages: see pager_slots.h
 *
 * The including file defines FP_SLOTS_STATE_PAGES_, FIRST_SEED, and PROOF, the name of its test.
 */
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 2
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_BLOCK_PAGES 4
#define FP_PAGER_IMAGE_BYTES 320
#define FP_SLOTS_BLOCKS 3
#define FP_SLOTS_JOURNAL_BLOCKS 3
#define FP_SLOTS_TEST_
#include "pager_slots.h"

static void torture(void *unused)
{
    (void)unused;
    live(FIRST_SEED, 400000);
}

static void is_found(void)
{
    EXPECT(test_aborts(torture, NULL, "pager_slots.h"));
}

static const struct test tests[] = {
    {PROOF, is_found},
    {NULL, NULL},
};

TEST_LIST(tests)
