/* Without a lock, and one window fewer than contexts. The frame that is drawn may be held. */
#define FP_PAGER_POLICY FP_PAGER_RANDOM
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 777
#define FP_PAGER_SEED 7
#define FP_PAGER_WINDOWS 2
#define TASK_SCHEDULES 40000
#include "pager_tasks.h"

static const struct test tests[] = {
    {"pager_tasks_random", random_schedules},
    {NULL, NULL},
};

TEST_LIST(tests)
