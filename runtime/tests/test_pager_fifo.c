#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_SEQUENTIAL
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 300
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_fifo_fuzz", fuzz},
    {"pager_fifo_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
