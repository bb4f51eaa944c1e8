/* Without a lock: a call that meets another one is refused. */
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 1333
#define FP_PAGER_WINDOWS 3
#define TASK_SCHEDULES 400000
#include "pager_tasks.h"

static const struct test tests[] = {
    {"pager_tasks_clock", random_schedules},
    {NULL, NULL},
};

TEST_LIST(tests)
