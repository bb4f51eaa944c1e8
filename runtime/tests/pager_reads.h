/* Reads at random of an image whose bytes follow from their offsets, for the tests of drivers. Included behind
 * pager.c. */
#ifndef PAGER_READS_H
#define PAGER_READS_H

#include "test.h"

#define READ_MOST_BYTES 900u

/* The line from the chip: driven by it, or by nobody. */
enum line { DRIVEN, LOW, HIGH };

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Reads up to `most` bytes each time. Returns how many reads failed; the bytes of the others are compared. */
static unsigned compare_reads(uint64_t *random, unsigned reads, uint32_t most)
{
    unsigned failed = 0;
    uint8_t bytes[READ_MOST_BYTES];
    for (; reads > 0; reads--) {
        const uint32_t size = 1 + random_below(random, most);
        const uint32_t from = random_below(random, FP_PAGER_IMAGE_BYTES - size);
        const int error = fp_pager_read(from, bytes, size);
        failed += error != 0;
        for (uint32_t i = 0; !error && i < size; i++)
            EXPECT_EQ(bytes[i], image_byte(from + i));
    }
    return failed;
}

#endif
