/* Bytes are fetched to aligned memory alone: frames and pinned pages. */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_POLICY FP_PAGER_FIFO
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 512
#define FP_PAGER_FLASH_PAGE_BYTES 2048
#define FP_PAGER_IMAGE_BYTES 9000
#define FP_PAGER_PINNED_PAGES 1
#define FP_PAGER_ALIGN 512
#include "../pager/pager.c"

static unsigned fetches;

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static void fetch(uint8_t *to, uint32_t page, uint32_t column, uint32_t size)
{
    EXPECT((uintptr_t)to % FP_PAGER_ALIGN == 0 && size % FP_PAGER_ALIGN == 0);
    for (uint32_t i = 0; i < size; i++)
        to[i] = image_byte(page * FP_PAGER_FLASH_PAGE_BYTES + column + i);
    fetches++;
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES 5
#define CHIP_BYTE(page, column) image_byte((uint32_t)(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_FETCH(to, page, column, size) fetch((to), (page), (column), (uint32_t)(size))
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

static void aligned(void)
{
    uint8_t byte;
    chip_reset();
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
    for (uint32_t from = 0; from < FP_PAGER_IMAGE_BYTES; from += 100) {
        EXPECT_EQ(fp_pager_read(from, &byte, 1), FP_PAGER_OK);
        EXPECT_EQ(byte, image_byte(from));
    }
    EXPECT_EQ(fetches, FP_PAGER_PAGES);
    EXPECT_EQ((uintptr_t)frames % FP_PAGER_ALIGN, 0);
    EXPECT_EQ((uintptr_t)pinned % FP_PAGER_ALIGN, 0);
}

static const struct test tests[] = {
    {"pager_aligned", aligned},
    {NULL, NULL},
};

TEST_LIST(tests)
