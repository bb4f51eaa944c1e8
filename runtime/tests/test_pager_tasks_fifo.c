/* With a lock, and a window for each context: a single frame is left as a victim. */
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_HINT
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 777
#define FP_PAGER_WINDOWS 3
#define FP_PAGER_LOCK 1
#define TASK_SCHEDULES 40000
#include "pager_tasks.h"

static const struct test tests[] = {
    {"pager_tasks_fifo", random_schedules},
    {NULL, NULL},
};

TEST_LIST(tests)
