/* Declarations that the store's front (swap.c) and its layouts share. */
#ifndef FLASHPAGER_SWAP_INTERNAL_H
#define FLASHPAGER_SWAP_INTERNAL_H

#include "flashpager_swap.h"

#define FP_SWAP_NOWHERE 0xffffffffu

/* Division of 64-bit numbers by numbers that are no powers of two. Kernels for 32-bit machines lack
 * the operator, and define this as div64_u64 before any file of the store. */
#ifndef FP_DIV64
#define FP_DIV64(dividend, divisor) ((dividend) / (divisor))
#endif

/* Marks a function that needs a stack frame of its own, so that its locals are not on the stack
 * while its caller calls another one. Kernels, whose stacks are small, define it. */
#ifndef FP_APART
#define FP_APART
#endif

/* Version of the log on the medium. */
#define FP_SWAP_VERSION 4u

/* Codes in fp_swap.size[] that are not a number of bytes. An uncompressed page has page_bytes. */
#define FP_SWAP_SIZE_NONE 0u      /* no page */
#define FP_SWAP_SIZE_SAME 0xffffu /* filled with one word */
#define FP_SWAP_SIZE_LOST 0xfffeu /* lost: FP_SWAP_CORRUPT */

/* A page as a layout stores it. */
struct fp_swap_record {
    uint16_t size; /* bytes of the data, or FP_SWAP_SIZE_SAME */
    uint32_t crc;  /* fp_swap_record_crc() */
    uint32_t word; /* the word of a same-filled page */
};

/* A layout. Its functions may use `config`, `location`, `size`, `stage` and `stat` of the store. */
struct fp_swap_layout {
    /* Returns the words of memory that it needs beside slots and stage, or 0 for an impossible
     * config. */
    uint64_t (*words)(const struct fp_swap_config *config);
    /* Starts with that memory and empty slots. With `keep` it finds what the medium holds. */
    int (*start)(struct fp_swap *store, uint32_t *memory, bool keep);
    /* Stores a record and its data in place of the slot's old ones, and sets location[] and size[]
     * with fp_swap_settle(). After an error other than FP_SWAP_IO the slot is unchanged. */
    int (*put)(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
               const uint8_t *data);
    /* Finds the record of a slot that holds a page (not a lost one). The word of a same-filled page
     * has been checked, the data of another has not. */
    int (*find)(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record);
    /* Reads the data, after find(). */
    int (*fetch)(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data);
    int (*drop)(struct fp_swap *store, uint32_t slot);
    int (*sync)(struct fp_swap *store);
    /* fp_swap_has_failed(); NULL if the layout never knows. */
    bool (*has_failed)(const struct fp_swap *store);
    /* fp_swap_idle(); NULL if the layout never has anything to do. */
    int (*idle)(struct fp_swap *store);
    /* Computes mem_used_total and mem_limit. */
    void (*space)(const struct fp_swap *store, uint64_t *used, uint64_t *limit);
    uint32_t (*erase_count)(const struct fp_swap *store, uint32_t block);
    const char *(*check)(struct fp_swap *store);
};

/* Sets what a slot holds from now on, and updates the statistics. */
void fp_swap_settle(struct fp_swap *store, uint32_t slot, uint32_t location, uint16_t size);

/* Returns the CRC of a record: over slot, size and the uncompressed page, so that a compressor's
 * mistakes are found, too. For a same-filled page it covers the word. */
uint32_t fp_swap_record_crc(const struct fp_swap *store, uint32_t slot, uint16_t size,
                            const uint8_t *page);

/* Returns the store's CRC-32. */
uint32_t fp_swap_crc(const struct fp_swap *store, uint32_t crc, const void *data, size_t size);

/* Little-endian numbers at any address. */
static inline uint16_t fp_swap_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | (uint16_t)((uint16_t)at[1] << 8));
}

static inline uint32_t fp_swap_get32(const uint8_t *at)
{
    return (uint32_t)fp_swap_get16(at) | (uint32_t)fp_swap_get16(at + 2) << 16;
}

static inline void fp_swap_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void fp_swap_put32(uint8_t *at, uint32_t value)
{
    fp_swap_put16(at, (uint16_t)value);
    fp_swap_put16(at + 2, (uint16_t)(value >> 16));
}

#endif
