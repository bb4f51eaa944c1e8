/* An SDHC card, in pages of a block, behind a partition. */
#define FP_PAGER_PAGE_BYTES 512
#define FP_SD_FIRST_BLOCK 2048
#define CARD_VERSION 2
#define CARD_HAS_BLOCKS 1
#include "pager_sd_spi.h"

static const struct test tests[] = {
    {"pager_sd_spi_fuzz", fuzz},
    {"pager_sd_spi_blocks", blocks},
    {"pager_sd_spi_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
