#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_HINT
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_STORE FP_PAGER_STORE_HOMES
#define FP_PAGER_MOST_SKIPPED 2
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 128
#define FP_PAGER_IMAGE_BYTES 700
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_homes_start_fuzz", fuzz},
    {"pager_homes_start_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
