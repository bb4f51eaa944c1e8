#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_HINT
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 6
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 333
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_clock_fuzz", fuzz},
    {"pager_clock_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
