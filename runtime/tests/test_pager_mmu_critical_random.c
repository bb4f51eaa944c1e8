#define FP_PAGER_POLICY FP_PAGER_RANDOM
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL_MMU
#define FP_PAGER_FLASH_PAGE_BYTES 256
#define FP_PAGER_FRAMES 3
#define FP_PAGER_SEED 7
#include "pager_mmu_critical.h"

static const struct test tests[] = {
    {"pager_mmu_critical_random_fuzz", fuzz},
    {"pager_mmu_critical_random_ends", ends},
    {"pager_mmu_critical_random_damaged", damaged},
    {NULL, NULL},
};

TEST_LIST(tests)
