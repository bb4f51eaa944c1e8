/*
 * An image that is longer than size_t can count, as on an AVR
 *
 * Cut to 16 bits the rest of the image would be shorter than reads that are in it.
 */
#include "test.h"

#include <string.h>

#define size_t uint16_t
#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_POLICY FP_PAGER_LRU
#define FP_PAGER_LOOKUP FP_PAGER_SCAN
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 3
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 1024
#define FP_PAGER_IMAGE_BYTES 70000
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
#define CHIP_PAGES 69
#define CHIP_BYTE(page, column) image_byte((uint32_t)(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

/* Reads that begin anywhere, of all sizes that matter. */
static void images_above_16_bits(void)
{
    static const uint16_t sizes[] = {1, 4463, 4464, 4465, 5000, 65535};
    static uint8_t bytes[65535];
    EXPECT_EQ(sizeof(size_t), 2);
    chip_reset();
    EXPECT_EQ(fp_pager_start(), 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t from = 0; from <= 70000; from += 1000) {
            const bool is_inside = from + sizes[i] <= 70000;
            test_at("%u bytes from %u", sizes[i], from);
            EXPECT_EQ(fp_pager_read(from, bytes, sizes[i]), is_inside ? 0 : FP_PAGER_OUTSIDE);
            if (is_inside) {
                EXPECT_EQ(bytes[0], image_byte(from));
                EXPECT_EQ(bytes[sizes[i] - 1], image_byte(from + sizes[i] - 1u));
            }
        }
    }
}

static const struct test tests[] = {
    {"pager_images_above_16_bits", images_above_16_bits},
    {NULL, NULL},
};

TEST_LIST(tests)
