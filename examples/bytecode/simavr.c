/*
 * The simulator of the mote on an AVR: simavr, with a NAND chip on its pins
 *
 *     simavr DEVICE.elf CHIP link_in=FD link_out=FD clock_hz=N static_bytes=N
 *         [page_bytes=N pages=N t_r=N t_rc=N t_ccs=N]
 *
 * The two file descriptors are the ends of the link. The NAND chip holds image.bin of the current
 * folder; without page_bytes there is no chip. Times are in cycles.
 *
 * It prints
 *   - the counts that the firmware reports,
 *   - the counts of the chip,
 *   - the CRC-32 of the bytes of bytecode that the firmware reports,
 *   - the cycles, in all and by job.
 * It stops with an error if the stack grows down into the static_bytes at the start of the RAM.
 */
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Addresses in memory of the registers of avr_link.h, and of PINA. */
static const struct {
    const char *chip;
    avr_io_addr_t byte, buffer, command;
    uint16_t io_pins;
} links[] = {
    {"atmega1284p", 0x3e, 0x4a, 0x4b, 0x20}, /* GPIOR0, GPIOR1, GPIOR2 */
    {"atmega128", 0x42, 0x5c, 0x40, 0x39},   /* OCDR, XDIV, SFIOR */
};
#define RAM_START 0x100u
#define LINKS (sizeof(links) / sizeof(links[0]))

static FILE *link_in, *link_out;
static uint8_t buffer[256]; /* bytes for the next command */
static unsigned buffered;   /* their number */
static uint32_t crc = 0xffffffffu;

static void stop(const char *message)
{
    printf("error %s\n", message);
    fflush(stdout);
    exit(1);
}

#include "verify/avr_jobs.h"

/* Commands of the firmware, as in avr.c; the third one is an error. */
#define COMMAND_PRINT 2
#define COMMAND_SEND 4

static uint8_t read_link_byte(avr_t *avr, avr_io_addr_t address, void *context)
{
    int byte;
    (void)context;
    fflush(link_out);
    byte = getc(link_in);
    if (byte == EOF)
        stop("the simulated world has ended");
    avr->data[address] = (uint8_t)byte;
    return (uint8_t)byte;
}

static void add_to_crc(avr_t *avr, avr_io_addr_t address, uint8_t byte, void *context)
{
    (void)avr;
    (void)address;
    (void)context;
    crc ^= byte;
    for (unsigned bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
}

static void add_to_buffer(avr_t *avr, avr_io_addr_t address, uint8_t byte, void *context)
{
    (void)avr;
    (void)address;
    (void)context;
    if (buffered == sizeof(buffer) - 1)
        stop("the firmware's message is too long");
    buffer[buffered++] = byte;
}

static void execute_command(avr_t *avr, avr_io_addr_t address, uint8_t command, void *context)
{
    const char *text = (const char *)buffer + 4;
    uint32_t value;
    (void)avr;
    (void)address;
    (void)context;
    buffer[buffered] = 0;
    value = buffer[0] | (uint32_t)buffer[1] << 8 | (uint32_t)buffer[2] << 16 |
            (uint32_t)buffer[3] << 24;
    if (command == COMMAND_SEND) {
        for (unsigned i = 0; i < buffered; i++)
            putc(buffer[i], link_out);
    } else if (command == COMMAND_PRINT) {
        printf("%s %u\n", text, (unsigned)value);
    } else {
        printf("error %s, before offset %u\n", text, (unsigned)value);
        exit(1);
    }
    buffered = 0;
}

/* Returns the number of an option NAME=N of the command line, or 0 if it is absent. */
static uint32_t option(int argc, char **argv, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 3; i < argc; i++)
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
            return (uint32_t)strtoul(argv[i] + length + 1, NULL, 10);
    return 0;
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware;
    struct nand_kind chip;
    avr_t *avr;
    int state = cpu_Running;
    uint16_t lowest_sp = UINT16_MAX;
    uint32_t static_end;
    unsigned link = 0;
    memset(&firmware, 0, sizeof(firmware));
    memset(&chip, 0, sizeof(chip));
    link_in = fdopen((int)option(argc, argv, "link_in"), "rb");
    link_out = fdopen((int)option(argc, argv, "link_out"), "wb");
    while (link < LINKS && (argc < 3 || strcmp(argv[2], links[link].chip)))
        link++;
    if (link == LINKS)
        stop("the chip is neither atmega1284p nor atmega128");
    avr = avr_make_mcu_by_name(links[link].chip);
    if (!link_in || !link_out || !avr || elf_read_firmware(argv[1], &firmware) != 0)
        stop("simavr does not start");
    avr_init(avr);
    avr->log = LOG_ERROR;
    firmware.frequency = option(argc, argv, "clock_hz");
    avr_load_firmware(avr, &firmware);
    avr_register_io_read(avr, links[link].byte, read_link_byte, NULL);
    avr_register_io_write(avr, links[link].byte, add_to_crc, NULL);
    avr_register_io_write(avr, links[link].buffer, add_to_buffer, NULL);
    avr_register_io_write(avr, links[link].command, execute_command, NULL);
    chip.page_bytes = option(argc, argv, "page_bytes");
    chip.pages = option(argc, argv, "pages");
    chip.t_r = option(argc, argv, "t_r");
    chip.t_rc = option(argc, argv, "t_rc");
    chip.t_ccs = option(argc, argv, "t_ccs");
    chip.io_pins = links[link].io_pins;
    if (chip.page_bytes) {
        chip.image = fopen("image.bin", "rb");
        if (!chip.image)
            stop("there is no image.bin");
        nand_connect(avr, &chip);
    }
    static_end = RAM_START + option(argc, argv, "static_bytes");
    jobs_begin(avr, &firmware);
    while (state != cpu_Done && state != cpu_Crashed) {
        const uint16_t sp = job_sp();
        state = jobs_run();
        /* The stack pointer is 0 until the program sets it. */
        if (sp && sp < lowest_sp)
            lowest_sp = sp;
        if (sp && sp + 1u < static_end)
            stop("C's stack comes down to what lies below it");
    }
    if (state == cpu_Crashed)
        stop("the processor crashed");
    if (chip.page_bytes)
        printf("chip_loads %u\nchip_column_changes %u\nchip_bytes_fetched %u\n"
               "chip_bytes_skipped %u\n",
               nand.counts.loads, nand.counts.column_changes, nand.counts.bytes_fetched,
               nand.counts.bytes_skipped);
    jobs_print();
    printf("stack_bytes %u\n", (unsigned)(avr->ramend - lowest_sp));
    printf("crc %u\ncycles %llu\n", (unsigned)~crc, (unsigned long long)avr->cycle);
    return 0;
}
