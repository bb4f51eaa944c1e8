/*
 * An image that is longer than size_t can count, as on an AVR
 *
 * Cut to 16 bits the rest of the image would be shorter than reads that are in it.
 */
#include "test.h"

#include <string.h>

#define size_t uint16_t
#define FP_PAGER_IMAGE_BYTES 70000
#include "pager_16_bits.h"

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
