#define FP_PAGER_POLICY FP_PAGER_PA_CLOCK
#define FP_PAGER_REGISTER FP_PAGER_SEQUENTIAL
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL
#define FP_PAGER_FRAMES 5
#define FP_PAGER_WALK_BUDGET 3
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_pa_clock_fuzz", fuzz},
    {"pager_mmu_pa_clock_ends", ends},
    {NULL, NULL},
};

TEST_LIST(tests)
