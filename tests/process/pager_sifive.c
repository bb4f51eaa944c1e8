/*
 * The pager and a driver on an emulated SiFive U540, whose SPI0 has an IS25WP256 and whose SPI2 an SD card
 *
 * The chips are those of QEMU. The image is read in pieces at random; a CRC-32 of all bytes and the counts are
 * printed by semihosting, for the test to compare. With CHIP_SD it lies on the card.
 */
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_START_COLUMN
#define FP_PAGER_FRAMES 16
#define FP_PAGER_PAGE_BYTES PAGE_BYTES
#define FP_PAGER_FLASH_PAGE_BYTES PAGE_BYTES
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_API static __attribute__((unused))
/* PAGE_BYTES, STORED_BYTES, FIRST_BYTE and the chip's command are given by the test. */
#define FP_SPI_NOR_FIRST_BYTE FIRST_BYTE
#define FP_SD_FIRST_BLOCK (FIRST_BYTE / 512)
#define FP_PAGER_IMAGE_BYTES STORED_BYTES
#include "pager.c"

#ifdef CHIP_SD
#include "sd_spi/sd_spi.c"
#define SPI_BASE 0x10050000ul
#define chip_start fp_sd_start
#define chip_is_other() (fp_sd_stat()->failure == FP_SD_SILENT)
#else
#include "spi_nor/spi_nor.c"
#define SPI_BASE 0x10040000ul
#define chip_start fp_spi_nor_start
#define chip_is_other() (fp_spi_nor_stat()->failure == FP_SPI_NOR_OTHER)
#endif

#define READS 3000u

#define SPI(offset) (*(volatile uint32_t *)(SPI_BASE + (offset)))
#define SPI_CSMODE SPI(0x18)
#define SPI_CSMODE_AUTO 0u
#define SPI_CSMODE_HOLD 2u
#define SPI_CSMODE_OFF 3u
#define SPI_FMT SPI(0x40)
#define SPI_FMT_8_BITS 0x80000u
#define SPI_TXDATA SPI(0x48)
#define SPI_TXDATA_FULL 0x80000000u
#define SPI_RXDATA SPI(0x4c)
#define SPI_RXDATA_EMPTY 0x80000000u
#define SPI_FCTRL SPI(0x60)

#define SYS_WRITE0 4ul
#define SYS_EXIT 0x18ul
#define EXIT_FINE 0x20026ul

static uint8_t exchange(uint8_t sent)
{
    uint32_t got;
    while (SPI_TXDATA & SPI_TXDATA_FULL)
        ;
    SPI_TXDATA = sent;
    do
        got = SPI_RXDATA;
    while (got & SPI_RXDATA_EMPTY);
    return (uint8_t)got;
}

#ifdef CHIP_SD
static void fp_sd_select(uint_fast8_t is_selected)
{
    SPI_CSMODE = is_selected ? SPI_CSMODE_HOLD : SPI_CSMODE_OFF;
}

static void fp_sd_clock(uint_fast8_t is_fast)
{
    (void)is_fast; /* the emulator has none */
}

static int fp_sd_exchange(const uint8_t *sent, uint8_t *got, uint_fast16_t size)
{
    for (uint_fast16_t i = 0; i < size; i++) {
        const uint8_t byte = exchange(sent ? sent[i] : 0xff);
        if (got)
            got[i] = byte;
    }
    return 0;
}
#else
static int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                           uint_fast16_t size)
{
    SPI_CSMODE = SPI_CSMODE_HOLD;
    for (uint_fast8_t i = 0; i < command_size; i++)
        (void)exchange(command[i]);
    for (uint_fast16_t i = 0; i < size; i++)
        to[i] = exchange(0);
    SPI_CSMODE = SPI_CSMODE_AUTO;
    return 0;
}
#endif

static int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

static long semihosting(unsigned long operation, unsigned long parameter)
{
    register unsigned long a0 __asm__("a0") = operation;
    register unsigned long a1 __asm__("a1") = parameter;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return (long)a0;
}

static void print(const char *name, uint32_t value)
{
    char digits[12] = "";
    char *at = digits + sizeof(digits) - 2;
    *at = '\n';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    semihosting(SYS_WRITE0, (unsigned long)name);
    semihosting(SYS_WRITE0, (unsigned long)" ");
    semihosting(SYS_WRITE0, (unsigned long)at);
}

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % bound;
}

static uint32_t crc(uint32_t sum, uint8_t byte)
{
    sum ^= byte;
    for (unsigned bit = 0; bit < 8; bit++)
        sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    return sum;
}

/* There is no C library. */
void *memmove(void *to, const void *from, size_t size)
{
    const int is_up = (uintptr_t)to < (uintptr_t)from;
    for (size_t i = 0; i < size; i++) {
        const size_t at = is_up ? i : size - 1 - i;
        ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return memmove(to, from, size);
}

void *memset(void *to, int value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

static int run(void)
{
    uint32_t state = 1, sum = UINT32_MAX;
    uint8_t bytes[200];
    SPI_FCTRL = 0; /* not mapped */
    SPI_FMT = SPI_FMT_8_BITS;
    if (chip_start() || fp_pager_start())
        return chip_is_other() ? 1 : 2;
    for (uint32_t i = 0; i < READS; i++) {
        const uint32_t size = 1 + below(&state, sizeof(bytes));
        const uint32_t from = below(&state, STORED_BYTES - size);
        if (fp_pager_read(from, bytes, size))
            return 3;
        for (uint32_t at = 0; at < size; at++)
            sum = crc(sum, bytes[at]);
    }
    print("crc", ~sum);
    print("references", fp_pager_stat()->references);
    print("misses", fp_pager_stat()->misses);
    print("bytes_fetched", fp_pager_stat()->bytes_fetched);
    return 0;
}

__attribute__((used)) static void program(void)
{
    static const unsigned long reason[2] = {EXIT_FINE, 0};
    print("result", (uint32_t)run());
    semihosting(SYS_EXIT, (unsigned long)reason);
    for (;;)
        ;
}

__attribute__((naked, section(".text.first"))) void _start(void)
{
    /* One of the cores runs it. */
    __asm__("csrr t0, mhartid\nbnez t0, 1f\nla sp, stack_top\nj program\n1: wfi\nj 1b");
}
