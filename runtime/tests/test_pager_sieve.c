#define FP_PAGER_POLICY FP_PAGER_SIEVE
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_DOUBLE_BUFFER
#define FP_PAGER_FRAMES 4
#define FP_PAGER_PAGE_BYTES 32
#define FP_PAGER_FLASH_PAGE_BYTES 128
#define FP_PAGER_IMAGE_BYTES 1500
#define FP_PAGER_CODEWORD_BYTES 16
#define FP_PAGER_RETRIES 0
#include "pager_fuzz.h"

static const struct test tests[] = {
    {"pager_sieve_fuzz", fuzz},
    {"pager_sieve_tries", tries},
    {NULL, NULL},
};

TEST_LIST(tests)
