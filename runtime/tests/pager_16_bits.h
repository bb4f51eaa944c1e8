/* The pager with one type of 16 bits, as on an AVR, and an emulated chip. Included by a test that has redefined
 * the type behind the headers it uses, and that has defined FP_PAGER_IMAGE_BYTES. */
#ifndef PAGER_16_BITS_H
#define PAGER_16_BITS_H

#include "test.h"

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#include "../pager/pager.c"

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1) / FP_PAGER_FLASH_PAGE_BYTES + 1)
#define CHIP_BYTE(page, column) image_byte((uint32_t)(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

#endif
