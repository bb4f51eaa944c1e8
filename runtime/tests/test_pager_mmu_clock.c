#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL_MMU
#define FP_PAGER_FRAMES 6
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_clock_fuzz", fuzz},
    {"pager_mmu_clock_ends", ends},
    {NULL, NULL},
};

TEST_LIST(tests)
