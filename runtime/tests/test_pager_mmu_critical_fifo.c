#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_SEQUENTIAL
#define FP_PAGER_FLASH_PAGE_BYTES 256
#define FP_PAGER_FRAMES 5
#include "pager_mmu_critical.h"

static const struct test tests[] = {
    {"pager_mmu_critical_fifo_fuzz", fuzz},
    {"pager_mmu_critical_fifo_ends", ends},
    {"pager_mmu_critical_fifo_damaged", damaged},
    {NULL, NULL},
};

TEST_LIST(tests)
