/*
 * The mote on this machine: the pager with an emulated chip, for tests with the sanitizers
 *
 *     host link_in=FD link_out=FD
 *
 * The two file descriptors are the ends of the link. The image is read from image.bin in the current
 * folder, padded to whole flash pages. The program prints the counts, and the CRC-32 of all bytes of
 * bytecode that were executed.
 */
#include "flashpager_pager.h"
#include "interpreter.h"
#include "mote.h"
#include "program_memory.h"

#include <stdio.h>
#include <stdlib.h>

#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)

static uint8_t flash[CHIP_PAGES * FP_PAGER_FLASH_PAGE_BYTES];
static FILE *link_in, *link_out;
static uint32_t crc = 0xffffffffu;

__attribute__((noreturn)) static void fail(const char *message)
{
    printf("error %s\n", message);
    exit(1);
}

#define CHIP_ILLEGAL(message) fail(message)
#define CHIP_BYTE(page, column) (flash[(page)*FP_PAGER_FLASH_PAGE_BYTES + (column)])
#include "emulated/chip.h"

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

void vm_stop(const char *reason, uint16_t offset)
{
    printf("error %s, before offset %u\n", reason, offset);
    exit(1);
}

void report_code_byte(uint8_t byte)
{
    crc ^= byte;
    for (unsigned bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
}

void link_put(uint8_t byte)
{
    if (putc(byte, link_out) == EOF)
        fail("the simulated world has ended");
}

uint8_t link_get(void)
{
    int byte;
    fflush(link_out);
    byte = getc(link_in);
    if (byte == EOF)
        fail("the simulated world has ended");
    return (uint8_t)byte;
}

static void print_count(const char *name, uint32_t value)
{
    printf("%s %u\n", name, (unsigned)value);
}

int main(int argc, char **argv)
{
    int in = -1, out = -1;
    FILE *file = fopen("image.bin", "rb");
    if (!file || fread(flash, 1, sizeof(flash), file) != sizeof(flash))
        fail("image.bin is too short");
    fclose(file);
    if (argc != 3 || sscanf(argv[1], "link_in=%d", &in) != 1 ||
        sscanf(argv[2], "link_out=%d", &out) != 1 || !(link_in = fdopen(in, "rb")) ||
        !(link_out = fdopen(out, "wb")))
        fail("there is no link");
    chip_reset();
    if (fp_pager_start())
        fail("the pager does not start");
    mote_run(MOTE_ADDRESS);
#include "counts.h"
    print_count(PROGRAM_TEXT("chip_loads"), chip.counts.loads);
    print_count(PROGRAM_TEXT("chip_prefetches"), chip.counts.prefetches);
    print_count(PROGRAM_TEXT("chip_column_changes"), chip.counts.column_changes);
    print_count(PROGRAM_TEXT("chip_bytes_fetched"), chip.counts.bytes_fetched);
    print_count(PROGRAM_TEXT("chip_bytes_skipped"), chip.counts.bytes_skipped);
    print_count(PROGRAM_TEXT("crc"), ~crc);
    fclose(link_in);
    fclose(link_out);
    return 0;
}
