#include "spi_nor.h"

/* Commands. */
#define READ_ID 0x9fu
#define WAKE 0xabu

#define ID_BYTES 3u
#define READ_COMMAND_BYTES (1u + FP_SPI_NOR_ADDRESS_BYTES + FP_SPI_NOR_DUMMY_BYTES)

static struct {
    uint32_t page; /* the chip's address of the flash page that is read */
    uint32_t next; /* of the next byte */
    uint8_t is_ready; /* 1 after a start: a chip that wakes gives other bytes */
    struct fp_spi_nor_stat stat;
} spi_nor;

static int spi_nor_fails(enum fp_spi_nor_failure failure)
{
    spi_nor.stat.failure = failure;
    return FP_PAGER_IO;
}

/* Reads whether the chip is there and answers. */
static int check_chip(void)
{
#if FP_SPI_NOR_ID
    static const uint8_t command[1] = {READ_ID};
    uint8_t id[ID_BYTES];
    if (fp_spi_transfer(command, sizeof(command), id, sizeof(id)))
        return spi_nor_fails(FP_SPI_NOR_BUS);
    if (((uint32_t)id[0] << 16 | (uint32_t)id[1] << 8 | id[2]) != FP_SPI_NOR_ID)
        return spi_nor_fails(FP_SPI_NOR_OTHER);
#endif
    spi_nor.stat.failure = FP_SPI_NOR_FINE;
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_spi_nor_start(void)
{
    int error = FP_PAGER_OK;
#if FP_SPI_NOR_ID
    static const uint8_t wake[1] = {WAKE};
    spi_nor.is_ready = 0;
    if (fp_spi_transfer(wake, sizeof(wake), NULL, 0))
        return spi_nor_fails(FP_SPI_NOR_BUS);
    /* A chip that was asleep is silent for some microseconds. */
    for (uint_fast16_t polls = FP_SPI_NOR_POLLS; polls; polls--) {
        error = check_chip();
        if (!error)
            break;
    }
#endif
    spi_nor.is_ready = !error;
    return error;
}

FP_PAGER_API const struct fp_spi_nor_stat *fp_spi_nor_stat(void)
{
    return &spi_nor.stat;
}

/* Keeps the address, which the command of the next fetch has. */
FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    spi_nor.page = FP_SPI_NOR_FIRST_BYTE + (uint32_t)page * FP_PAGER_FLASH_PAGE_BYTES;
    spi_nor.next = spi_nor.page + column;
}

FP_PAGER_API int fp_flash_wait(void)
{
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    uint8_t command[READ_COMMAND_BYTES] = {FP_SPI_NOR_READ};
    uint32_t address = spi_nor.next;
    int error;
    for (uint_fast8_t i = FP_SPI_NOR_ADDRESS_BYTES; i > 0; i--, address >>= 8)
        command[i] = (uint8_t)address;
    spi_nor.next += (uint32_t)size;
    if (!spi_nor.is_ready)
        error = spi_nor_fails(FP_SPI_NOR_OTHER);
    else if (fp_spi_transfer(command, sizeof(command), to, size))
        error = spi_nor_fails(FP_SPI_NOR_BUS);
    else
        error = check_chip();
    spi_nor.stat.failures += error != 0;
    return error;
}

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
FP_PAGER_API void fp_flash_skip(uint_fast16_t size)
{
    spi_nor.next += (uint32_t)size;
}
#else
FP_PAGER_API void fp_flash_column(uint_fast16_t column)
{
    spi_nor.next = spi_nor.page + column;
}
#endif
