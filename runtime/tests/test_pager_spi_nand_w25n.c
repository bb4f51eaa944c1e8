/* A chip with 2 bits of ECC status, an ID of 3 bytes, and a mode that must be set. */
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_SPI_NAND_ID 0xefaa21
#define FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1
#define FP_SPI_NAND_CONFIG 0x08
#include "pager_spi_nand.h"

static const struct test tests[] = {
    {"pager_spi_nand_w25n_fuzz", fuzz},
    {"pager_spi_nand_w25n_codes", codes},
    {"pager_spi_nand_w25n_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
