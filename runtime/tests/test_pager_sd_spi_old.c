/* A card of SD 1, which is addressed by bytes, in pages of four blocks. */
#define FP_PAGER_PAGE_BYTES 2048
#define CARD_VERSION 1
#define CARD_HAS_BLOCKS 0
#include "pager_sd_spi.h"

static const struct test tests[] = {
    {"pager_sd_spi_old_fuzz", fuzz},
    {"pager_sd_spi_old_blocks", blocks},
    {"pager_sd_spi_old_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
