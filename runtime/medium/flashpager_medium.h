/*
 * flashpager medium: what a flash chip, or another memory, looks like to the library
 *
 * A medium is a geometry and five functions. The swap store stands on it; so does
 * everything else in this library that reads or programs a memory. See README.md,
 * "Porting".
 */
#ifndef FLASHPAGER_MEDIUM_H
#define FLASHPAGER_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results of a medium's functions. Any other negative number counts as FP_MEDIUM_IO, so a driver
 * may return its own error codes. */
enum fp_medium_result {
    FP_MEDIUM_OK = 0,
    FP_MEDIUM_CORRECTED = 1, /* of read() only: the bytes are right after ECC corrected them */
    FP_MEDIUM_IO = -1,       /* the medium failed */
};

/*
 * A medium, in erase blocks of `block_bytes`.
 *
 * A NAND has flash pages of `program_bytes`, which are programmed whole, once, and
 * in ascending order within a block after its erasure; `offset` and `size` of
 * program() are a page's. A medium that rewrites in place has program_bytes 1: any
 * bytes can be programmed at any time, and erase, is_bad and mark_bad are not
 * called and may be NULL.
 *
 * read() takes any bytes of a block. Where it gives FP_MEDIUM_CORRECTED, the caller
 * should soon move the block's data.
 */
struct fp_medium {
    void *context;
    int (*read)(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size);
    int (*program)(void *context, uint32_t block, uint32_t offset, const void *data,
                   uint32_t size);
    int (*erase)(void *context, uint32_t block);
    bool (*is_bad)(void *context, uint32_t block);
    int (*mark_bad)(void *context, uint32_t block);
    /* Optional. Called with a block that is not needed until it is programmed again, so that memory
     * which is allocated as it is used can be released. Only for media that rewrite in place. It is
     * a hint: not every such block is reported. */
    void (*release)(void *context, uint32_t block);
    uint32_t program_bytes;
    uint32_t block_bytes;
    uint32_t block_count;
};

#ifdef __cplusplus
}
#endif

#endif
