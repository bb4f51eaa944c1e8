#define FP_PAGER_POLICY FP_PAGER_FIFO_SC
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_SEQUENTIAL
#define FP_PAGER_FLASH_PAGE_BYTES 128
#define FP_PAGER_FRAMES 5
#define FP_PAGER_VALID 1
#include "pager_mmu_critical.h"

static const struct test tests[] = {
    {"pager_mmu_critical_fifo_sc_fuzz", fuzz},
    {"pager_mmu_critical_fifo_sc_ends", ends},
    {"pager_mmu_critical_fifo_sc_damaged", damaged},
    {NULL, NULL},
};

TEST_LIST(tests)
