#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL
#define FP_PAGER_FRAMES 5
#define FP_PAGER_CHECKS 1
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_fifo_checked_fuzz", fuzz},
    {"pager_mmu_fifo_checked_ends", ends},
    {"pager_mmu_fifo_checked_damaged", damaged},
    {NULL, NULL},
};

TEST_LIST(tests)
