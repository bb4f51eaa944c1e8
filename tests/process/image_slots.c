/* A device with two slots, whose chip is an array: it starts from what a programmer wrote, and is updated. */
#include <stdio.h>
#include <string.h>

#include "pager.c"

#include "slots/slots.c"

#define BLOCKS (FP_SLOTS_B + FP_SLOTS_BLOCKS)
#define BLOCK_BYTES (FP_PAGER_BLOCK_PAGES * FP_PAGER_FLASH_PAGE_BYTES)

static uint8_t chip[BLOCKS * BLOCK_BYTES];
static uint32_t load_address;

int fp_slots_read_page(uint32_t page, uint_fast16_t column, uint8_t *to, uint_fast16_t size)
{
    memcpy(to, chip + page * FP_PAGER_FLASH_PAGE_BYTES + column, size);
    return FP_PAGER_OK;
}

int fp_slots_program_page(uint32_t page, const uint8_t *bytes, uint_fast16_t size)
{
    for (uint_fast16_t i = 0; i < size; i++)
        chip[page * FP_PAGER_FLASH_PAGE_BYTES + i] &= bytes[i];
    return FP_PAGER_OK;
}

int fp_slots_erase_block(uint32_t block)
{
    memset(chip + block * BLOCK_BYTES, 0xff, BLOCK_BYTES);
    return FP_PAGER_OK;
}

void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    load_address = (uint32_t)(page * FP_PAGER_FLASH_PAGE_BYTES + column);
}

int fp_flash_wait(void)
{
    return FP_PAGER_OK;
}

int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    memcpy(to, chip + load_address, size);
    load_address += (uint32_t)size;
    return FP_PAGER_OK;
}

void fp_flash_skip(uint_fast16_t size)
{
    load_address += (uint32_t)size;
}

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

/* Reads a file into the chip, as a programmer does. */
static int program_file(const char *path, uint32_t block)
{
    FILE *file = fopen(path, "rb");
    const size_t read = file ? fread(chip + block * BLOCK_BYTES, 1, sizeof(chip) - block * BLOCK_BYTES, file) : 0;
    return file && read && !fclose(file) ? 0 : 1;
}

/* Starts the device, and reports the image that runs. */
static int start(void)
{
    const int slot = fp_slots_choose();
    int error = slot < 0 ? slot : fp_pager_start();
    if (!error)
        error = fp_pager_check();
    printf("slot %d, error %d, version %u%s\n", slot, error, (unsigned)fp_pager_image()->version,
           fp_slots_on_trial() ? ", on trial" : "");
    return error;
}

static int update(const char *path)
{
    uint8_t page[FP_PAGER_FLASH_PAGE_BYTES];
    FILE *file = fopen(path, "rb");
    int error = file ? fp_slots_begin() : 1;
    while (!error && fread(page, 1, sizeof(page), file) == sizeof(page))
        error = fp_slots_write(page, sizeof(page));
    if (!error)
        error = fp_slots_finish(page);
    if (file)
        fclose(file);
    return error;
}

/* Arguments: the journal, the number of the slot that was written, its image, and the next image. */
int main(int count, char **arguments)
{
    memset(chip, 0xff, sizeof(chip));
    if (count != 5 || program_file(arguments[1], FP_SLOTS_JOURNAL) ||
        program_file(arguments[3], first_block(arguments[2][0] == 'b')))
        return 2;
    if (start() || update(arguments[4]) || start() || fp_slots_confirm() || start())
        return 1;
    return 0;
}
