/*
 * Offsets that do not fit into 16 bits, where fp_offset has 16 bits as on an AVR
 *
 * They are behind the image. Cut to 16 bits they would give the bytes at another offset.
 */
#include "test.h"

#include <string.h>

#define uint_fast16_t uint16_t
#define FP_PAGER_IMAGE_BYTES 5000
#include "pager_16_bits.h"

/* Reads and jumps to offsets that equal one in the image in their last 16 bits. */
static void offsets_above_16_bits(void)
{
    static const uint32_t behind[] = {5000, 0xffff, 0x10000, 0x10000 + 1000, 0x20000 + 4999,
                                      0x7fff0000, 0xffffffff};
    struct fp_cursor cursor = {NULL, NULL, 0};
    uint8_t bytes[4];
    EXPECT_EQ(sizeof(fp_offset), 2);
    chip_reset();
    EXPECT_EQ(fp_pager_start(), 0);
    for (unsigned i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        const uint32_t within = 1000 + i;
        test_at("offset %#x", behind[i]);
        memset(bytes, 0xee, sizeof(bytes));
        EXPECT_EQ(fp_pager_read(behind[i], bytes, 1), FP_PAGER_OUTSIDE);
        EXPECT_EQ(bytes[0], 0xee);
        /* From an open window, too. */
        fp_cursor_jump(&cursor, within);
        EXPECT_EQ(fp_cursor_byte(&cursor), image_byte(within));
        fp_cursor_jump(&cursor, behind[i]);
        EXPECT_EQ(fp_cursor_byte(&cursor), FP_PAGER_OUTSIDE);
        EXPECT_EQ(fp_pager_read(within, bytes, 4), 0);
        for (unsigned j = 0; j < 4; j++)
            EXPECT_EQ(bytes[j], image_byte(within + j));
    }
}

static const struct test tests[] = {
    {"pager_offsets_above_16_bits", offsets_above_16_bits},
    {NULL, NULL},
};

TEST_LIST(tests)
