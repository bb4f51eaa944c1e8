#define FP_PAGER_POLICY FP_PAGER_PA_FIFO_SC
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL
#define FP_PAGER_FRAMES 6
#define FP_PAGER_VALID 3
#define FP_PAGER_CHECKS 1
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_pa_fifo_sc_checked_fuzz", fuzz},
    {"pager_mmu_pa_fifo_sc_checked_ends", ends},
    {"pager_mmu_pa_fifo_sc_checked_damaged", damaged},
    {NULL, NULL},
};

TEST_LIST(tests)
