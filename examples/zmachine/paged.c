/*
 * A story in flash behind the pager: code is read through one cursor, data through another. The chip
 * is emulated; its pages are read from flash.bin. At the end, the counts of pager and chip are written
 * to counts.txt, one in each line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "flashpager_pager.h"
#include "story.h"

/* The flash pages in the chip's data register or buffers. */
#if FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER
static uint8_t held[2][FP_PAGER_FLASH_PAGE_BYTES];
#else
static uint8_t held[1][FP_PAGER_FLASH_PAGE_BYTES];
#endif
static int flash; /* the open flash.bin */

_Noreturn static void stop(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(EXIT_FAILURE);
}

static void fill_buffer(uint8_t buffer, uint32_t page)
{
    if (lseek(flash, (off_t)(page * FP_PAGER_FLASH_PAGE_BYTES), SEEK_SET) < 0 ||
        read(flash, held[buffer], FP_PAGER_FLASH_PAGE_BYTES) != FP_PAGER_FLASH_PAGE_BYTES)
        stop("flash.bin has no such page");
}

#define CHIP_ILLEGAL(message) stop(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) (held[chip.buffer][column])
#define CHIP_LOADED(buffer, page) fill_buffer(buffer, page)
#include "emulated/chip.h"

#if FP_PAGER_CODEWORD_BYTES
/* Corrects nothing, because the emulated chip has no bit errors. */
int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *codeword)
{
    (void)page;
    (void)column;
    (void)codeword;
    return 0;
}
#endif

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

static struct fp_cursor code, data;

int medium_open(const char *name)
{
    (void)name;
    flash = open("flash.bin", O_RDONLY);
    if (flash < 0)
        return -1;
    chip_reset();
    return fp_pager_start();
}

unsigned long medium_bytes(void)
{
    return FP_PAGER_IMAGE_BYTES;
}

static inline int read_byte(struct fp_cursor *cursor, unsigned long address)
{
    if (fp_cursor_tell(cursor) != address) {
        if (address >= FP_PAGER_IMAGE_BYTES)
            return FP_PAGER_OUTSIDE;
        fp_cursor_jump(cursor, (fp_offset)address);
    }
    return fp_cursor_byte(cursor);
}

int medium_code(unsigned long address)
{
    return read_byte(&code, address);
}

int medium_data(unsigned long address)
{
    return read_byte(&data, address);
}

int medium_read(unsigned long address, void *to, unsigned long size)
{
    if (address >= FP_PAGER_IMAGE_BYTES)
        return FP_PAGER_OUTSIDE;
    return fp_pager_read((fp_offset)address, to, size);
}

void medium_close(void)
{
    const struct fp_pager_stat *stat = fp_pager_stat();
    const struct {
        const char *name;
        uint32_t value;
    } counts[] = {
        {"references", stat->references},
        {"misses", stat->misses},
        {"reference_bits_set", stat->reference_bits_set},
        {"loads", stat->loads},
        {"prefetches", stat->prefetches},
        {"other_page", stat->other_page},
        {"other_buffer", stat->other_buffer},
        {"forward", stat->forward},
        {"backward", stat->backward},
        {"column_changes", stat->column_changes},
        {"bytes_fetched", stat->bytes_fetched},
        {"bytes_skipped", stat->bytes_skipped},
        {"walk", stat->walk},
        {"max_walk", stat->max_walk},
        {"chip_loads", chip.counts.loads},
        {"chip_prefetches", chip.counts.prefetches},
        {"chip_column_changes", chip.counts.column_changes},
        {"chip_bytes_fetched", chip.counts.bytes_fetched},
        {"chip_bytes_skipped", chip.counts.bytes_skipped},
    };
    FILE *file = fopen("counts.txt", "w");
    if (!file)
        stop("counts.txt cannot be written");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        fprintf(file, "%s %lu\n", counts[i].name, (unsigned long)counts[i].value);
    fclose(file);
    close(flash);
}
