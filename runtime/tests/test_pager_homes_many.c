/* Numbers of two bytes, and a reach over all slots. */
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_STORE FP_PAGER_STORE_HOMES
#define FP_PAGER_MOST_SKIPPED 99
#define FP_PAGER_FRAMES 30
#define FP_PAGER_PAGE_BYTES 8
#define FP_PAGER_FLASH_PAGE_BYTES 128
#define FP_PAGER_IMAGE_BYTES 2049
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_homes_many_fuzz", fuzz},
    {"pager_homes_many_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
