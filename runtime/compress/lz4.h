/* LZ4; needs liblz4. Include this file with its folder, as <lz4.h> is LZ4's own header. */
#ifndef FLASHPAGER_LZ4_H
#define FLASHPAGER_LZ4_H

#include "flashpager_compressor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of RAM for compression, aligned to 8. LZ4_sizeofState() is 16416 with LZ4's usual
 * LZ4_MEMORY_USAGE of 14. Decompression needs none. */
#define FP_LZ4_BYTES 16448u

struct fp_lz4 {
    struct fp_compressor compressor; /* for the config */
    void *state;
};

/* Returns 0, or FP_COMPRESSOR_INVALID if the memory is too small, or not aligned to 8. */
int fp_lz4_init(struct fp_lz4 *lz4, void *memory, size_t memory_bytes);

#ifdef __cplusplus
}
#endif

#endif
