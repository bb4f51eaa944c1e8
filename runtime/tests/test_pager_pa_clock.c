#define FP_PAGER_POLICY FP_PAGER_PA_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 7
#define FP_PAGER_PAGE_BYTES 8
#define FP_PAGER_FLASH_PAGE_BYTES 128
#define FP_PAGER_IMAGE_BYTES 500
#define FP_PAGER_WALK_BUDGET 3
#define FP_PAGER_CODEWORD_BYTES 32
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_pa_clock_fuzz", fuzz},
    {"pager_pa_clock_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
