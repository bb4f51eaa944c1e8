/*
 * A variant of the pager, whose sizes are variables: what a test calls. variant.c defines it.
 *
 * crates/pager/src/ffi.rs has the same structs.
 */
#ifndef FLASHPAGER_VARIANT_H
#define FLASHPAGER_VARIANT_H

#include <stddef.h>
#include <stdint.h>

/* The largest sizes of a variant, and those of a variant with narrow types. */
#define VARIANT_FRAMES 1024
#define VARIANT_PAGES 32766
#define VARIANT_PAGE_BYTES 4096
#define VARIANT_SMALL_FRAMES 200
#define VARIANT_SMALL_PAGES 120
#define VARIANT_SMALL_PAGE_BYTES 64
#define VARIANT_CODEWORD_BYTES 4096

/* take() returns it for a byte that is not the image's. */
#define VARIANT_WRONG_BYTE (-100)

struct variant_sizes {
    uint32_t frames;
    uint32_t page_bytes;
    uint32_t flash_page_bytes;
    uint32_t codeword_bytes; /* 1 for none */
    uint32_t image_bytes;
    uint32_t parameter;      /* budget of pa-clock, seed of random, valid pages of fifo-sc */
};

/* Bytes of the image that a program takes one after another. */
struct variant_run {
    uint32_t offset;
    uint32_t length;
};

/* The pager's statistics: see struct fp_pager_stat. */
struct variant_stat {
    uint32_t references, misses, reference_bits_set, loads, prefetches, other_page, other_buffer,
        forward, backward, column_changes, bytes_fetched, bytes_skipped, walk, max_walk,
        false_faults, downgrades, tag_bytes_fetched, mac_bytes;
};

/* The operations that the chip has counted. */
struct variant_chip {
    uint32_t loads, prefetches, column_changes, bytes_fetched, bytes_skipped, tag_bytes_fetched;
};

struct variant_counts {
    struct variant_stat stat;
    struct variant_chip chip;
};

struct variant {
    /* Starts the pager with these sizes. Returns 0 or an error of the pager. */
    int (*start)(const struct variant_sizes *sizes);
    /* Takes runs as a program does: one byte of each page, or all bytes if `whole`. Returns 0, an error
     * of the pager, or VARIANT_WRONG_BYTE. */
    int (*take)(const struct variant_run *runs, size_t count, int whole);
    /* Copies bytes of the image; NULL behind an MMU. */
    int (*read)(uint32_t from, uint8_t *to, size_t size);
    void (*get_counts)(struct variant_counts *counts);
};

/* The byte of the image at an offset. */
static inline uint8_t variant_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

#endif
