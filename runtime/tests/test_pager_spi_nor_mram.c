/* An MRAM of 32 KiB without an ID, in larger flash pages whose column can be changed. */
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 30000
#define FP_SPI_NOR_ID 0
#define FP_SPI_NOR_READ 0x03
#define FP_SPI_NOR_ADDRESS_BYTES 2
#include "pager_spi_nor.h"

static const struct test tests[] = {
    {"pager_spi_nor_mram_fuzz", fuzz},
    {"pager_spi_nor_mram_transfers", transfers},
    {"pager_spi_nor_mram_absence", absence},
    {NULL, NULL},
};

TEST_LIST(tests)
