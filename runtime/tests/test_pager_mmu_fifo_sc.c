#define FP_PAGER_POLICY FP_PAGER_FIFO_SC
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_SEQUENTIAL
#define FP_PAGER_FRAMES 6
#define FP_PAGER_VALID 3
#include "pager_mmu_fuzz.h"

static const struct test tests[] = {
    {"pager_mmu_fifo_sc_fuzz", fuzz},
    {"pager_mmu_fifo_sc_ends", ends},
    {NULL, NULL},
};

TEST_LIST(tests)
