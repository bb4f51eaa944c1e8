/* A chip of 2 planes with 3 bits of ECC status, a bad block and an ID of 2 bytes. */
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_BAD_BLOCKS 1
#define FP_SPI_NAND_ID 0x2c24
#define FP_SPI_NAND_ECC FP_SPI_NAND_ECC_1_3_5
#define FP_SPI_NAND_PLANES 2
#include "pager_spi_nand.h"

static const struct test tests[] = {
    {"pager_spi_nand_fuzz", fuzz},
    {"pager_spi_nand_codes", codes},
    {"pager_spi_nand_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
