#define FP_PAGER_POLICY FP_PAGER_RANDOM
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 2500
#define FP_PAGER_SEED 7
#define FP_PAGER_TAG_BYTES 8
#define FP_PAGER_TAG_AT 3
#define FP_PAGER_IMAGE_VERSION 5
#define FP_PAGER_CODEWORD_BYTES 64
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_random_fuzz", fuzz},
    {"pager_random_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
