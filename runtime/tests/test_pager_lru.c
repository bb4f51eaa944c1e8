#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_HINT
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER_PREFETCH
#define FP_PAGER_FRAMES 9
#define FP_PAGER_PAGE_BYTES 16
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 700
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_lru_fuzz", fuzz},
    {"pager_lru_tries", tries},
    {"pager_lru_fails_ahead", fails_ahead},
    {NULL, NULL},
};

TEST_LIST(tests)
