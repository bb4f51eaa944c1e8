#include "spi_nand.h"

/* Commands, registers and their bits. */
#define RESET 0xffu
#define READ_ID 0x9fu
#define GET_FEATURE 0x0fu
#define SET_FEATURE 0x1fu
#define LOAD_PAGE 0x13u
#define READ_REGISTER 0x03u
#define CONFIG 0xb0u
#define CONFIG_OTP 0x40u
#define CONFIG_ECC 0x10u
#define STATUS 0xc0u
#define STATUS_BUSY 0x01u

/* The codes of the ECC in the status, as masks with a bit for each code: those of a corrected page, and
 * those of a page with as many errors as can be corrected. */
#if FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1
#define CODE_MASK 3u
#define CODES_CORRECTED 0x02u
#define CODES_LIMIT 0x00u
#elif FP_SPI_NAND_ECC == FP_SPI_NAND_ECC_1_3
#define CODE_MASK 3u
#define CODES_CORRECTED 0x0au
#define CODES_LIMIT 0x08u
#else
#define CODE_MASK 7u
#define CODES_CORRECTED 0x2au
#define CODES_LIMIT 0x28u
#endif

#define ID_BYTES (FP_SPI_NAND_ID > 0xffffl ? 3u : 2u)
#define CONFIG_ON (CONFIG_ECC | FP_SPI_NAND_CONFIG)

static struct {
    uint32_t page; /* the chip's page that is loading or held */
    uint16_t column;
    uint8_t is_sent;    /* 1 if the command of the load was sent */
    uint8_t maybe_busy; /* 1 if the chip was not seen ready after a load */
    struct fp_spi_nand_stat stat;
} spi_nand;

static int spi_nand_fails(enum fp_spi_nand_failure failure)
{
    spi_nand.stat.failure = failure;
    return failure == FP_SPI_NAND_CORRUPT ? FP_PAGER_CORRUPT : FP_PAGER_IO;
}

static int get_feature(uint8_t address, uint8_t *value)
{
    const uint8_t command[2] = {GET_FEATURE, address};
    return fp_spi_transfer(command, sizeof(command), value, 1) ? spi_nand_fails(FP_SPI_NAND_BUS)
                                                               : FP_PAGER_OK;
}

/* Polls until the chip is ready. */
static int wait_ready(uint8_t *status)
{
    for (uint32_t polls = 0; polls < FP_SPI_NAND_POLLS; polls++) {
        const int error = get_feature(STATUS, status);
        if (error)
            return error;
        if (!(*status & STATUS_BUSY)) {
            spi_nand.maybe_busy = 0;
            return FP_PAGER_OK;
        }
        FP_SPI_NAND_YIELD();
    }
    return spi_nand_fails(FP_SPI_NAND_SILENT);
}

/* Reads whether the ECC is on, and the OTP area hidden. */
static int check_config(void)
{
    uint8_t config;
    const int error = get_feature(CONFIG, &config);
    if (error)
        return error;
    return (config & (CONFIG_ON | CONFIG_OTP)) == CONFIG_ON ? FP_PAGER_OK
                                                            : spi_nand_fails(FP_SPI_NAND_NO_ECC);
}

static int check_id(void)
{
    static const uint8_t command[2] = {READ_ID, 0};
    uint8_t id[ID_BYTES];
    uint32_t number = 0;
    if (fp_spi_transfer(command, sizeof(command), id, sizeof(id)))
        return spi_nand_fails(FP_SPI_NAND_BUS);
    for (uint_fast8_t i = 0; i < ID_BYTES; i++)
        number = number << 8 | id[i];
    return number == FP_SPI_NAND_ID ? FP_PAGER_OK : spi_nand_fails(FP_SPI_NAND_OTHER);
}

static int configure(void)
{
    uint8_t command[3] = {SET_FEATURE, CONFIG, 0};
    const int error = get_feature(CONFIG, &command[2]);
    if (error)
        return error;
    command[2] = (uint8_t)((command[2] & ~CONFIG_OTP) | CONFIG_ON);
    if (fp_spi_transfer(command, sizeof(command), NULL, 0))
        return spi_nand_fails(FP_SPI_NAND_BUS);
    return check_config();
}

FP_PAGER_API int fp_spi_nand_start(void)
{
    static const uint8_t reset[1] = {RESET};
    uint8_t status;
    int error;
    spi_nand.is_sent = 0;
    if (fp_spi_transfer(reset, sizeof(reset), NULL, 0))
        return spi_nand_fails(FP_SPI_NAND_BUS);
    error = wait_ready(&status);
    if (!error)
        error = check_id();
    if (!error)
        error = configure();
    if (!error)
        spi_nand.stat.failure = FP_SPI_NAND_FINE;
    return error;
}

FP_PAGER_API const struct fp_spi_nand_stat *fp_spi_nand_stat(void)
{
    return &spi_nand.stat;
}

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    const uint32_t row = FP_SPI_NAND_FIRST_PAGE + (uint32_t)page;
    const uint8_t command[4] = {LOAD_PAGE, (uint8_t)(row >> 16), (uint8_t)(row >> 8), (uint8_t)row};
    uint8_t status;
    spi_nand.page = row;
    spi_nand.column = (uint16_t)column;
    /* A busy chip would ignore the command, and keep the page of an earlier load. */
    spi_nand.is_sent = 0;
    if (spi_nand.maybe_busy && wait_ready(&status))
        return;
    spi_nand.maybe_busy = 1;
    if (fp_spi_transfer(command, sizeof(command), NULL, 0))
        (void)spi_nand_fails(FP_SPI_NAND_BUS);
    else
        spi_nand.is_sent = 1;
}

/* Waits for a load, and sets `code` to the code of the ECC in the status. */
static int wait_load(uint_fast8_t *code)
{
    uint8_t status;
    int error;
    if (!spi_nand.is_sent)
        return FP_PAGER_IO;
    error = wait_ready(&status);
    if (!error)
        *code = status >> 4 & CODE_MASK;
    return error;
}

FP_PAGER_API int fp_flash_wait(void)
{
    uint_fast8_t code;
    const int error = wait_load(&code);
    if (error)
        return error;
    if (code && !(CODES_CORRECTED >> code & 1u))
        return spi_nand_fails(FP_SPI_NAND_CORRUPT);
    spi_nand.stat.failure = FP_SPI_NAND_FINE;
    spi_nand.stat.corrected += code != 0;
    if (CODES_LIMIT >> code & 1u) {
        spi_nand.stat.limit++;
        spi_nand.stat.limit_page = spi_nand.page;
    }
    return FP_PAGER_OK;
}

/* Reads bytes of the held page, from a column on, and then the configuration. It shows whether the ECC is
 * on, and that a chip answers: a line without a chip is always low or always high. */
static int read_register(uint16_t column, uint8_t *to, uint_fast16_t size)
{
    const uint8_t plane =
        FP_SPI_NAND_PLANES == 2 && (spi_nand.page / FP_PAGER_BLOCK_PAGES & 1u) ? 0x10u : 0;
    const uint8_t command[4] = {READ_REGISTER, (uint8_t)(column >> 8 | plane), (uint8_t)column, 0};
    if (fp_spi_transfer(command, sizeof(command), to, size))
        return spi_nand_fails(FP_SPI_NAND_BUS);
    return check_config();
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    const uint16_t column = spi_nand.column;
    spi_nand.column = (uint16_t)(column + size);
    return read_register(column, to, size);
}

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
/* Skips bytes without a transfer, because the command of the next fetch has its column. */
FP_PAGER_API void fp_flash_skip(uint_fast16_t size)
{
    spi_nand.column = (uint16_t)(spi_nand.column + size);
}
#else
FP_PAGER_API void fp_flash_column(uint_fast16_t column)
{
    spi_nand.column = (uint16_t)column;
}
#endif

#if FP_PAGER_TAG_BYTES
FP_PAGER_API int fp_flash_spare(uint_fast16_t at, uint8_t *to, uint_fast8_t size)
{
    return read_register((uint16_t)(FP_PAGER_FLASH_PAGE_BYTES + at), to, size);
}
#endif

#if FP_PAGER_BAD_BLOCKS
FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    for (fp_flash_page page = 0; page < 2; page++) {
        uint_fast8_t code;
        uint8_t mark;
        int error;
        fp_flash_load(block * FP_PAGER_BLOCK_PAGES + page, 0);
        error = wait_load(&code);
        if (!error)
            error = read_register(FP_PAGER_FLASH_PAGE_BYTES, &mark, 1);
        if (error)
            return error;
        if (mark != 0xffu)
            return 1;
    }
    return 0;
}
#endif
