/*
 * The host of atmega1284p.c: simavr, with runs.bin and image.bin
 *
 * Prints what the firmware says, the CRC-32 of the bytes that it took, and its cycles.
 */
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the memory of an ATmega1284P. */
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

static void stop(const char *what)
{
    printf("error %s\n", what);
    fflush(stdout);
    exit(1);
}

static uint8_t next_byte(avr_t *avr, avr_io_addr_t address, void *context)
{
    const int byte = getc(runs);
    (void)address;
    (void)context;
    avr->data[GPIOR0] = (uint8_t)byte;
    return (uint8_t)byte;
}

static uint8_t has_more(avr_t *avr, avr_io_addr_t address, void *context)
{
    const int byte = getc(runs);
    (void)address;
    (void)context;
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

static void act(avr_t *avr, avr_io_addr_t address, uint8_t what, void *context)
{
    (void)address;
    (void)context;
    gathered[count] = 0;
    count = 0;
    if (what == 1) {
        const uint32_t to = number(4, 2), size = number(6, 2);
        if (to + size > avr->ramend + 1u ||
            fseek(image, (long)(number(0, 4) * size), SEEK_SET) ||
            fread(avr->data + to, 1, size, image) != size)
            stop("image.bin has no such page");
    } else if (what == 2) {
        printf("%s %u\n", (const char *)gathered + 4, (unsigned)number(0, 4));
    } else {
        stop((const char *)gathered);
    }
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware;
    avr_t *avr;
    int state = cpu_Running;
    memset(&firmware, 0, sizeof(firmware));
    runs = fopen("runs.bin", "rb");
    image = fopen("image.bin", "rb");
    avr = avr_make_mcu_by_name("atmega1284p");
    if (argc != 2 || !runs || !image || !avr || elf_read_firmware(argv[1], &firmware) != 0)
        stop("simavr does not begin");
    avr_init(avr);
    avr->log = LOG_ERROR;
    firmware.frequency = 16000000;
    avr_load_firmware(avr, &firmware);
    avr_register_io_read(avr, GPIOR0, next_byte, NULL);
    avr_register_io_read(avr, GPIOR1, has_more, NULL);
    avr_register_io_write(avr, GPIOR0, take, NULL);
    avr_register_io_write(avr, GPIOR1, gather, NULL);
    avr_register_io_write(avr, GPIOR2, act, NULL);
    while (state != cpu_Done && state != cpu_Crashed)
        state = avr_run(avr);
    if (state == cpu_Crashed)
        stop("the processor crashed");
    printf("crc %u\ncycles %llu\n", (unsigned)~crc, (unsigned long long)avr->cycle);
    return 0;
}
