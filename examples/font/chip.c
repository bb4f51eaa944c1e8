/*
 * The pager and its chip: a serial NOR for which a file of the PC stands here
 *
 * On a board fp_spi_transfer() is the bus. This one answers as a W25Q128JV that holds font.bin.
 */
#include "pager.c"

#include "spi_nor/spi_nor.c"

#include <stdio.h>

int fp_spi_transfer(const uint8_t *command, uint_fast8_t command_size, uint8_t *to,
                    uint_fast16_t size)
{
    static const uint8_t id[3] = {0xef, 0x40, 0x18};
    static FILE *chip;
    (void)command_size;
    if (command[0] == 0x9f)
        memcpy(to, id, size);
    if (command[0] != 0x0b)
        return 0;
    if (!chip)
        chip = fopen("font.bin", "rb");
    memset(to, 0xff, size);
    return !chip || fseek(chip, (long)command[1] << 16 | command[2] << 8 | command[3], SEEK_SET) ||
           (fread(to, 1, size, chip) == 0 && ferror(chip));
}

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}
