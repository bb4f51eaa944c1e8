/* A serial NOR of 32 MiB, whose image lies behind its first 16 MiB. */
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FLASH_PAGE_BYTES 64
#define FP_PAGER_IMAGE_BYTES 70001
#define FP_SPI_NOR_ID 0xef4019
#define FP_SPI_NOR_READ 0x0c
#define FP_SPI_NOR_ADDRESS_BYTES 4
#define FP_SPI_NOR_FIRST_BYTE 0x1000040
#include "pager_spi_nor.h"

static const struct test tests[] = {
    {"pager_spi_nor_fuzz", fuzz},
    {"pager_spi_nor_transfers", transfers},
    {"pager_spi_nor_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
