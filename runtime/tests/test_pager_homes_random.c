#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_STORE FP_PAGER_STORE_HOMES
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 128
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 4001
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_homes_random_fuzz", fuzz},
    {"pager_homes_random_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
