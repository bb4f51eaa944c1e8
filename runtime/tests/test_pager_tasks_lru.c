/* With a lock, and one window fewer than contexts. */
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 777
#define FP_PAGER_WINDOWS 2
#define FP_PAGER_LOCK 1
#define TASK_SCHEDULES 40000
#include "pager_tasks.h"

static const struct test tests[] = {
    {"pager_tasks_lru", random_schedules},
    {NULL, NULL},
};

TEST_LIST(tests)
