#define FP_PAGER_POLICY FP_PAGER_RANDOM
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_SEQUENTIAL
#define FP_PAGER_FRAMES 7
#define FP_PAGER_SEED 7
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_random_fuzz", fuzz},
    {"pager_mmu_random_ends", ends},
    {NULL, NULL},
};

TEST_LIST(tests)
