#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_PARALLEL_MMU
#define FP_PAGER_FRAMES 4
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_fifo_fuzz", fuzz},
    {"pager_mmu_fifo_ends", ends},
    {NULL, NULL},
};

TEST_LIST(tests)
