#include "onenand.h"

#if FP_PAGER_FLASH_PAGE_BYTES != 1024 && FP_PAGER_FLASH_PAGE_BYTES != 2048
#error "a OneNAND of this driver has pages of 1 or 2 KB"
#endif
#if FP_PAGER_PAGE_BYTES < 2
#error "a OneNAND gives two bytes at a time"
#endif
#if FP_PAGER_STORE == FP_PAGER_STORE_HOMES && FP_PAGER_HOME_HEADER_BYTES % 2
#error "homes: a OneNAND gives two bytes at a time, and FP_PAGER_HOME_HEADER_BYTES is odd"
#endif
#if FP_PAGER_CRITICAL_BYTES
#error "a critical block: this driver has no DMA for the rest of a page"
#endif
#if FP_PAGER_TAG_BYTES
#error "tags: this driver fetches nothing from the spare area"
#endif

#define NO_PAGE_HELD UINT32_MAX
/* Fields of registers. */
#define DEVICE_DENSITY(id) ((id) >> 4 & 15u) /* the chip has 16 MB << density */
#define DEVICE_TWO_DIES 0x08u
#define DIE_SHIFT 15u
#define DATA_BUFFER(buffer, sector) ((0x8u | (buffer) << 2 | (sector)) << 8)
/* The INT pin is driven, and is high when it is active. */
#define CONFIG_INT 0x0060u
#define STATUS_ERROR 0x0400u
#define INTERRUPT_ANY 0x8000u
#define INTERRUPT_LOAD 0x0080u
/* Two bits for each sector, and two for each spare area. */
#define ECC_CORRECTED 0x5555u
#define ECC_WRONG 0xaaaau

static struct {
    uint32_t die_pages, pages;
    uint32_t corrected;
    /* By buffer: the page that it holds whole, or NO_PAGE_HELD. Interrupts write volatile fields. */
    volatile uint32_t held[2];
    uint32_t loading; /* the page being loaded, or NO_PAGE_HELD if only some of its sectors are */
    uint32_t commanded_page; /* a page of the die that got the last command */
    volatile uint16_t seen; /* the value of ADDRESS_2: the die whose buffers and registers are visible */
    uint16_t column;
    uint8_t buffer, into;
    volatile uint8_t is_busy;
    volatile int8_t result;
    uint8_t why;
} onenand;

static int load_fails(enum fp_onenand_failure why)
{
    onenand.why = (uint8_t)why;
    return why == FP_ONENAND_ECC ? FP_PAGER_CORRUPT : FP_PAGER_IO;
}

static void see_die(uint32_t page)
{
    if (onenand.die_pages < onenand.pages) {
        /* Stored first, so that an interrupt in between restores it. */
        onenand.seen = (uint16_t)(page / onenand.die_pages << DIE_SHIFT);
        FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_2, onenand.seen);
    }
}

static void end_load(int result)
{
    onenand.result = (int8_t)result;
    onenand.is_busy = 0;
    onenand.held[onenand.into] = result ? NO_PAGE_HELD : onenand.loading;
}

/* Reads the result of a load from its die. All registers are read before the interrupt is cleared. */
static void take_end_of_die(void)
{
    const uint32_t interrupts = FP_ONENAND_READ(FP_ONENAND_INTERRUPTS);
    uint32_t status, ecc;
    int result = FP_PAGER_OK;
    if (!(interrupts & INTERRUPT_ANY))
        return;
    status = FP_ONENAND_READ(FP_ONENAND_STATUS);
    ecc = FP_ONENAND_READ(FP_ONENAND_ECC_STATUS);
    FP_ONENAND_WRITE(FP_ONENAND_INTERRUPTS, 0);
    if (!onenand.is_busy)
        return;
    for (uint32_t left = ecc & ECC_CORRECTED; left; left &= left - 1u)
        onenand.corrected++;
    if (ecc & ECC_WRONG)
        result = load_fails(FP_ONENAND_ECC);
    else if (status & STATUS_ERROR || !(interrupts & INTERRUPT_LOAD))
        result = load_fails(FP_ONENAND_REFUSED);
    end_load(result);
}

/* Reads the result of a load if it has ended, and leaves the same die visible as before: a load ahead
 * may run on one die while the other one is read. */
static void take_end(void)
{
    const uint16_t seen = onenand.seen;
    see_die(onenand.commanded_page);
    take_end_of_die();
    if (seen != onenand.seen) {
        onenand.seen = seen;
        FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_2, seen);
    }
}

/* Resets a die, even during a load. The end of the reset is reported like that of a load. */
static void reset_die(void)
{
    const int8_t result = onenand.result;
    const uint8_t why = onenand.why;
    see_die(onenand.commanded_page);
    FP_ONENAND_WRITE(FP_ONENAND_INTERRUPTS, 0);
    onenand.loading = NO_PAGE_HELD;
    onenand.is_busy = 1;
    FP_ONENAND_WRITE(FP_ONENAND_COMMAND, FP_ONENAND_RESET);
    for (unsigned long left = FP_ONENAND_ASKED; onenand.is_busy && left > 0; left--)
        take_end();
    onenand.is_busy = 0;
    onenand.held[0] = onenand.held[1] = NO_PAGE_HELD;
    onenand.result = result;
    onenand.why = why;
    FP_ONENAND_WRITE(FP_ONENAND_CONFIG_1, FP_ONENAND_READ(FP_ONENAND_CONFIG_1) | CONFIG_INT);
}

FP_PAGER_API int fp_onenand_start(void)
{
    const uint32_t maker = FP_ONENAND_READ(FP_ONENAND_MAKER);
    const uint32_t device = FP_ONENAND_READ(FP_ONENAND_DEVICE);
    const uint32_t wanted = FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER ? 2 : 1;
    onenand.corrected = 0;
    onenand.is_busy = 0;
    onenand.result = FP_PAGER_OK;
    onenand.buffer = onenand.into = 0;
    onenand.why = FP_ONENAND_FINE;
    /* A bus without a chip reads the same bits for both. */
    if (maker == device || DEVICE_DENSITY(device) > 7 ||
        FP_ONENAND_READ(FP_ONENAND_BUFFER_BYTES) != FP_PAGER_FLASH_PAGE_BYTES ||
        FP_ONENAND_READ(FP_ONENAND_BUFFERS) >> 8 < wanted)
        return load_fails(FP_ONENAND_OTHER);
    onenand.pages = (0x1000000u / FP_PAGER_FLASH_PAGE_BYTES) << DEVICE_DENSITY(device);
    onenand.die_pages = device & DEVICE_TWO_DIES ? onenand.pages / 2 : onenand.pages;
    if (FP_ONENAND_FIRST_PAGE + FP_PAGER_FLASH_PAGES > onenand.pages) {
        (void)load_fails(FP_ONENAND_BEYOND);
        return FP_PAGER_OUTSIDE;
    }
    for (uint32_t page = onenand.pages; page > 0; page -= onenand.die_pages) {
        onenand.commanded_page = page - 1u;
        reset_die();
    }
    return FP_PAGER_OK;
}

FP_PAGER_API enum fp_onenand_failure fp_onenand_why(void)
{
    return (enum fp_onenand_failure)onenand.why;
}

FP_PAGER_API uint32_t fp_onenand_corrected(void)
{
    return onenand.corrected;
}

static void start_load(uint32_t command, uint32_t page, uint_fast8_t sector, uint_fast8_t sectors,
                    uint_fast8_t buffer, uint32_t loading)
{
    onenand.into = (uint8_t)buffer;
    onenand.loading = loading;
    if (page >= onenand.pages) {
        end_load(load_fails(FP_ONENAND_BEYOND));
        return;
    }
    onenand.commanded_page = page;
    see_die(page);
    FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_1,
                     page / onenand.die_pages << DIE_SHIFT |
                         page % onenand.die_pages / FP_ONENAND_BLOCK_PAGES);
    FP_ONENAND_WRITE(FP_ONENAND_ADDRESS_8, page % FP_ONENAND_BLOCK_PAGES << 2 | sector);
    /* The number of sectors of a whole page is written as 0. */
    FP_ONENAND_WRITE(FP_ONENAND_START_BUFFER,
                     DATA_BUFFER(buffer, sector) | (sectors & (FP_ONENAND_SECTORS - 1u)));
    FP_ONENAND_WRITE(FP_ONENAND_INTERRUPTS, 0);
    onenand.is_busy = 1;
    FP_ONENAND_WRITE(FP_ONENAND_COMMAND, command);
}

FP_PAGER_API void fp_onenand_load(uint32_t page, uint_fast8_t sector, uint_fast8_t sectors,
                                  uint_fast8_t buffer)
{
    start_load(FP_ONENAND_LOAD, page, sector, sectors, buffer,
            sectors == FP_ONENAND_SECTORS ? page : NO_PAGE_HELD);
}

FP_PAGER_API int fp_onenand_ask(void)
{
#if !FP_ONENAND_INTERRUPT
    if (onenand.is_busy)
        take_end();
#endif
    return onenand.is_busy ? 1 : onenand.result;
}

FP_PAGER_API int fp_onenand_wait(void)
{
#if !FP_ONENAND_INTERRUPT
    unsigned long left = FP_ONENAND_ASKED;
#endif
    while (fp_onenand_ask() > 0) {
#if FP_ONENAND_INTERRUPT
        if (fp_onenand_sleep())
#else
        if (--left)
#endif
            continue;
        /* The load is ended before the reset, so that a later interrupt is not taken for its end. */
        end_load(load_fails(FP_ONENAND_SILENT));
        reset_die();
    }
    return onenand.result;
}

#if FP_ONENAND_INTERRUPT
FP_PAGER_API void fp_onenand_interrupt(void)
{
    take_end();
}
#endif

static void copy_out(uint32_t page, uint_fast8_t buffer, uint_fast16_t column, uint8_t *to,
                 uint_fast16_t size)
{
    uint32_t word = FP_ONENAND_DATA + (buffer * FP_PAGER_FLASH_PAGE_BYTES + column) / 2u;
    see_die(page);
    for (; size > 0; size -= 2) {
        const uint32_t two = FP_ONENAND_READ(word++);
        *to++ = (uint8_t)two;
        *to++ = (uint8_t)(two >> 8);
    }
}

FP_PAGER_API int fp_onenand_peek(uint32_t offset, uint8_t *to, uint_fast16_t size)
{
    const uint32_t page = FP_ONENAND_FIRST_PAGE + offset / FP_PAGER_FLASH_PAGE_BYTES;
    const uint_fast16_t column = offset % FP_PAGER_FLASH_PAGE_BYTES;
    const uint_fast8_t sector = (uint_fast8_t)(column / FP_ONENAND_SECTOR_BYTES);
    const uint_fast8_t other = FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER ? !onenand.buffer : 1;
    /* A load ahead ends first. The pager gets its result later. */
    int8_t result = (int8_t)fp_onenand_wait();
    uint32_t held;
    int error;
    for (uint_fast8_t buffer = 0; buffer < 2; buffer++) {
        if (onenand.held[buffer] == page) {
            copy_out(page, buffer, column, to, size);
            return FP_PAGER_OK;
        }
    }
    held = onenand.held[other];
    fp_onenand_load(page, sector, 1, other);
    error = fp_onenand_wait();
    if (!error) {
        copy_out(page, other, column, to, size);
        /* Restores the buffer. A reset instead would lose the other one, too. */
        if (held != NO_PAGE_HELD) {
            fp_onenand_load(held, sector, 1, other);
            if (!fp_onenand_wait())
                onenand.held[other] = held;
        }
    }
    onenand.result = result;
    return error;
}

/* The pager's port. */

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    onenand.column = (uint16_t)column;
    fp_onenand_load(FP_ONENAND_FIRST_PAGE + (uint32_t)page, 0, FP_ONENAND_SECTORS, onenand.buffer);
}

FP_PAGER_API int fp_flash_wait(void)
{
    return fp_onenand_wait();
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    const uint32_t page = onenand.held[onenand.buffer];
    if (page == NO_PAGE_HELD)
        return load_fails(FP_ONENAND_LOST);
    copy_out(page, onenand.buffer, onenand.column, to, size);
    onenand.column = (uint16_t)(onenand.column + size);
    return FP_PAGER_OK;
}

#if FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN
FP_PAGER_API void fp_flash_skip(uint_fast16_t size)
{
    onenand.column = (uint16_t)(onenand.column + size);
}
#else
FP_PAGER_API void fp_flash_column(uint_fast16_t column)
{
    onenand.column = (uint16_t)column;
}
#endif

#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
FP_PAGER_API void fp_flash_buffer(uint_fast8_t buffer)
{
    onenand.buffer = (uint8_t)buffer;
}
#endif

#if FP_PAGER_REGISTER == FP_PAGER_DOUBLE_BUFFER_PREFETCH
FP_PAGER_API void fp_flash_load_ahead(fp_flash_page page)
{
    fp_onenand_load(FP_ONENAND_FIRST_PAGE + (uint32_t)page, 0, FP_ONENAND_SECTORS,
                    !onenand.buffer);
}
#endif

#if FP_PAGER_BAD_BLOCKS
/* A block is bad if the first word of the spare area of one of its first two pages is not all ones: the
 * mark of the maker. */
FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    const uint32_t first =
        FP_ONENAND_FIRST_PAGE + (uint32_t)block * FP_PAGER_BLOCK_PAGES;
    for (uint32_t page = first; page < first + 2; page++) {
        int error;
        start_load(FP_ONENAND_LOAD_SPARE, page, 0, FP_ONENAND_SECTORS, 0, NO_PAGE_HELD);
        error = fp_onenand_wait();
        if (error == FP_PAGER_IO)
            return error;
        /* A block that cannot be read is bad, too. */
        if (error || FP_ONENAND_READ(FP_ONENAND_SPARE) != 0xffffu)
            return 1;
    }
    return 0;
}
#endif
