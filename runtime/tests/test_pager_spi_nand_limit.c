/* A chip with 2 bits of ECC status of which 3 is a corrected page. */
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_BAD_BLOCKS 1
#define FP_SPI_NAND_ID 0xefaa22
#define FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1_3
#include "pager_spi_nand.h"

static const struct test tests[] = {
    {"pager_spi_nand_limit_fuzz", fuzz},
    {"pager_spi_nand_limit_codes", codes},
    {"pager_spi_nand_limit_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
