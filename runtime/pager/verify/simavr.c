/*
 * The host of a firmware on an ATmega1284P: simavr, with runs.bin and image.bin
 *
 *     host device.elf [name=value]...
 *
 * The host prints the numbers that the firmware reports, the CRC-32 of the bytes that it took, and its
 * cycles, in all and by job. With `page_bytes` a NAND chip is on its pins, and its counts are printed,
 * too. The times of the chip, in cycles, are `t_r`, `t_rc` and `t_ccs`; `pages` is its number of pages,
 * and `spare_bytes` the size of the spare area behind each in image.bin. With `fit_runs` the report has
 * two parts: the runs before that number, and the runs from it on.
 */
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Addresses in the memory of an ATmega1284P. */
#define GPIOR0 0x3e
#define GPIOR1 0x4a
#define GPIOR2 0x4b

static FILE *runs, *image;
static uint8_t gathered[256];
static unsigned count;
static uint32_t crc = 0xffffffffu;

static uint32_t number(unsigned at, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)gathered[at + i] << 8 * i;
    return value;
}

static void stop(const char *message)
{
    printf("error %s\n", message);
    fflush(stdout);
    exit(1);
}

#include "avr_jobs.h"

static uint64_t fit_runs, served;

static uint8_t next_byte(avr_t *avr, avr_io_addr_t address, void *context)
{
    const int byte = getc(runs);
    (void)address;
    (void)context;
    served++;
    avr->data[GPIOR0] = (uint8_t)byte;
    return (uint8_t)byte;
}

static uint8_t has_more(avr_t *avr, avr_io_addr_t address, void *context)
{
    const int byte = getc(runs);
    (void)address;
    (void)context;
    if (fit_runs && served == fit_runs * 8)
        jobs_print();
    if (byte != EOF)
        ungetc(byte, runs);
    avr->data[GPIOR1] = byte != EOF;
    return byte != EOF;
}

static void take(avr_t *avr, avr_io_addr_t address, uint8_t byte, void *context)
{
    (void)avr;
    (void)address;
    (void)context;
    crc ^= byte;
    for (unsigned bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
}

static void gather(avr_t *avr, avr_io_addr_t address, uint8_t byte, void *context)
{
    (void)avr;
    (void)address;
    (void)context;
    if (count == sizeof(gathered) - 1)
        stop("the firmware says too much");
    gathered[count++] = byte;
}

static void act(avr_t *avr, avr_io_addr_t address, uint8_t message, void *context)
{
    (void)address;
    (void)context;
    gathered[count] = 0;
    count = 0;
    if (message == 1) {
        const uint32_t to = number(4, 2), size = number(6, 2);
        if (to + size > avr->ramend + 1u ||
            fseek(image, (long)(number(0, 4) * size), SEEK_SET) ||
            fread(avr->data + to, 1, size, image) != size)
            stop("image.bin has no such page");
    } else if (message == 2) {
        printf("%s %u\n", (const char *)gathered + 4, (unsigned)number(0, 4));
    } else if (message == 4) {
        /* The header was read, which no trace has. */
        memset(&nand.counts, 0, sizeof(nand.counts));
        jobs_forget();
    } else {
        stop((const char *)gathered);
    }
}

/* Returns a number of the command line, or its default. */
static uint32_t option(int argc, char **argv, const char *name, uint32_t usual)
{
    const size_t length = strlen(name);
    for (int i = 2; i < argc; i++)
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
            return (uint32_t)strtoul(argv[i] + length + 1, NULL, 10);
    return usual;
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware;
    struct nand_kind chip;
    avr_t *avr;
    int state = cpu_Running;
    memset(&firmware, 0, sizeof(firmware));
    runs = fopen("runs.bin", "rb");
    image = fopen("image.bin", "rb");
    avr = avr_make_mcu_by_name("atmega1284p");
    if (argc < 2 || !runs || !image || !avr || elf_read_firmware(argv[1], &firmware) != 0)
        stop("simavr does not begin");
    avr_init(avr);
    avr->log = LOG_ERROR;
    firmware.frequency = option(argc, argv, "clock_hz", 16000000);
    avr_load_firmware(avr, &firmware);
    fit_runs = option(argc, argv, "fit_runs", 0);
    memset(&chip, 0, sizeof(chip));
    chip.page_bytes = option(argc, argv, "page_bytes", 0);
    chip.spare_bytes = option(argc, argv, "spare_bytes", 0);
    chip.pages = option(argc, argv, "pages", 0);
    chip.t_r = option(argc, argv, "t_r", 0);
    chip.t_rc = option(argc, argv, "t_rc", 0);
    chip.t_ccs = option(argc, argv, "t_ccs", 0);
    chip.image = image;
    avr_register_io_read(avr, GPIOR0, next_byte, NULL);
    avr_register_io_read(avr, GPIOR1, has_more, NULL);
    avr_register_io_write(avr, GPIOR0, take, NULL);
    avr_register_io_write(avr, GPIOR1, gather, NULL);
    avr_register_io_write(avr, GPIOR2, act, NULL);
    if (chip.page_bytes)
        nand_connect(avr, &chip);
    jobs_begin(avr, &firmware);
    while (state != cpu_Done && state != cpu_Crashed)
        state = jobs_run();
    if (state == cpu_Crashed)
        stop("the processor crashed");
    if (chip.page_bytes)
        printf("chip_loads %u\nchip_column_changes %u\nchip_bytes_fetched %u\n"
               "chip_bytes_skipped %u\nchip_tag_bytes_fetched %u\n",
               nand.counts.loads, nand.counts.column_changes, nand.counts.bytes_fetched,
               nand.counts.bytes_skipped, nand.counts.spare_bytes_fetched);
    jobs_print();
    printf("crc %u\ncycles %llu\n", (unsigned)~crc, (unsigned long long)avr->cycle);
    return 0;
}
