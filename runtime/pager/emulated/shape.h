/* What a test sees of a pager whose sizes are variables: shape.c. */
#ifndef FLASHPAGER_SHAPE_H
#define FLASHPAGER_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* The largest; and of small shapes. */
#define SHAPE_FRAMES 1024
#define SHAPE_PAGES 32766
#define SHAPE_PAGE_BYTES 4096
#define SHAPE_SMALL_FRAMES 200
#define SHAPE_SMALL_PAGES 120
#define SHAPE_SMALL_PAGE_BYTES 64
#define SHAPE_CODEWORD_BYTES 4096

/* take() met a byte that is not the image's. */
#define SHAPE_WRONG_BYTE (-100)

struct shape_sizes {
    uint32_t frames;
    uint32_t page_bytes;
    uint32_t flash_page_bytes;
    uint32_t codeword_bytes; /* 1 for none */
    uint32_t image_bytes;
    uint32_t parameter; /* budget, seed or valid */
};

struct shape_run {
    uint32_t offset;
    uint32_t length;
};

struct shape_stat {
    uint32_t references, misses, reference_bits_set, loads, prefetches, other_page, other_buffer,
        forward, backward, column_changes, bytes_fetched, bytes_skipped, walk, max_walk,
        false_faults, downgrades, tag_bytes_fetched, mac_bytes;
};

struct shape_chip {
    uint32_t loads, prefetches, column_changes, bytes_fetched, bytes_skipped, tag_bytes_fetched;
};

struct shape_counts {
    struct shape_stat stat; /* the pager's own */
    struct shape_chip chip; /* what the chip counted */
};

struct shape {
    int (*start)(const struct shape_sizes *sizes);
    int (*take)(const struct shape_run *runs, size_t count, int whole);
    int (*read)(uint32_t from, uint8_t *to, size_t size); /* NULL behind an MMU */
    void (*tell)(struct shape_counts *counts);
};

/* The byte of the image at an offset. */
static inline uint8_t shape_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

#endif
