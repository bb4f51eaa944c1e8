/* Slots with images that have tags: see pager_slots.h. */
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 2
#define FP_PAGER_PAGE_BYTES 256
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_BLOCK_PAGES 4
#define FP_PAGER_BAD_BLOCKS 1
#define FP_PAGER_IMAGE_BYTES 3000
#define FP_PAGER_TAG_BYTES 8
#define FP_PAGER_TAG_AT 2
#define FP_SLOTS_BLOCKS 2
#include "pager_slots.h"

static void cut_anywhere(void)
{
    live(test_first(), test_rounds(2000));
}

/* An image with the version `id`, behind one that is confirmed. Returns the result of its end. */
static int finish_version(uint32_t id)
{
    uint8_t buffer[FP_PAGER_FLASH_PAGE_BYTES];
    int error;
    EXPECT_EQ(fp_slots_begin(), 0);
    oracle.last = id;
    EXPECT_EQ(write_image(id, INTACT), 0);
    error = fp_slots_finish(buffer);
    if (!error)
        oracle.images[slots.running == 0] = id;
    /* The image that runs is read with its own key. */
    check_bytes(oracle.images[(int)slots.running]);
    return error;
}

/* An image below the rollback counter is refused by the update; one that is refused by the start is given up. */
static void older_versions(void)
{
    oldest = 0;
    updated_device();
    const uint32_t running = fp_pager_image()->version;
    const struct slots_state before = slots.state;
    oldest = running;
    EXPECT_EQ(finish_version(running - 1), FP_PAGER_OLD);
    EXPECT_EQ(finish_version(running + 1), 0);
    must_be((struct slots_state){before.confirmed, before.confirmed == 0, 0});
    EXPECT(boot());
    EXPECT(fp_slots_on_trial());
    oldest = running + 2;
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OLD);
    EXPECT_EQ(fp_slots_reject(), before.confirmed);
    oldest = 0;
    check_running();
    EXPECT_EQ(fp_pager_image()->version, running);
}

static const struct test tests[] = {
    {"pager_slots_tags_cut_anywhere", cut_anywhere},
    {"pager_slots_tags_older_versions", older_versions},
    {NULL, NULL},
};

TEST_LIST(tests)
