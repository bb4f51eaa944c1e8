/* What the front (swap.c) and the layouts share. */
#ifndef FLASHPAGER_SWAP_INTERNAL_H
#define FLASHPAGER_SWAP_INTERNAL_H

#include "flashpager_swap.h"

#define FP_SWAP_NOWHERE 0xffffffffu

/* Division of 64-bit numbers by what is no power of two. Kernels for 32-bit machines have no
 * such operator: they define this before any file of the store, as div64_u64. */
#ifndef FP_DIV64
#define FP_DIV64(dividend, divisor) ((dividend) / (divisor))
#endif

/* Put before a function that is to have a frame of its own, so that what it keeps on the stack is
 * not there while its caller calls another one. Kernels, whose stacks are small, define it. */
#ifndef FP_APART
#define FP_APART
#endif

/* Codes in fp_swap.size[] that are no number of bytes. A page stored raw has
 * page_bytes. */
#define FP_SWAP_SIZE_NONE 0u      /* no page */
#define FP_SWAP_SIZE_SAME 0xffffu /* filled with one word */
#define FP_SWAP_SIZE_LOST 0xfffeu /* gone: FP_SWAP_CORRUPT */

/* A page as a layout sees it. */
struct fp_swap_record {
    uint16_t size; /* of the data, or FP_SWAP_SIZE_SAME */
    uint32_t crc;  /* fp_swap_record_crc() */
    uint32_t word; /* that a same-filled page is filled with */
};

/* A layout. All of them find `config`, `where`, `size`, `stage` and `stat` set up. */
struct fp_swap_layout {
    /* Words of memory beside slots and stage; 0 where the config cannot be. */
    uint64_t (*words)(const struct fp_swap_config *config);
    /* Take that memory; all slots are empty. `keep`: find what the medium holds. */
    int (*start)(struct fp_swap *store, uint32_t *memory, bool keep);
    /* Keep a record and its data in place of what the slot held, and set where[] and
     * size[] by fp_swap_settle(). On an error but FP_SWAP_IO the slot is as it was. */
    int (*put)(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
               const uint8_t *data);
    /* The record of a slot that holds a page (not lost); a word has been checked, the
     * data has not. */
    int (*find)(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record);
    /* Its data, after find(). */
    int (*fetch)(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data);
    int (*drop)(struct fp_swap *store, uint32_t slot);
    int (*sync)(struct fp_swap *store);
    /* fp_swap_idle(); NULL where there is never anything to do. */
    int (*idle)(struct fp_swap *store);
    /* mem_used_total and mem_limit. */
    void (*space)(const struct fp_swap *store, uint64_t *used, uint64_t *limit);
    uint32_t (*erase_count)(const struct fp_swap *store, uint32_t block);
    const char *(*check)(struct fp_swap *store);
};

/* Say what a slot holds from now on, and keep the statistics. */
void fp_swap_settle(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size);

/* The CRC that a record carries: over slot, size and the page as it was before it was
 * compressed, so that a compressor's mistake is found, too. Of a same-filled page over
 * its word. */
uint32_t fp_swap_record_crc(const struct fp_swap *store, uint32_t slot, uint16_t size,
                            const uint8_t *page);

/* The store's CRC-32. */
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
