/* Deflate at level 1, as in MTDCOMPR; needs zlib. */
#ifndef FLASHPAGER_DEFLATE_H
#define FLASHPAGER_DEFLATE_H

#include "flashpager_compressor.h"

#include <zlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of RAM, aligned to 16: windows, hash chains and symbols for a page, and the states of the
 * streams (zconf.h). 68 KB for pages of 4096 bytes, 42 KB for 2048. */
#define FP_DEFLATE_BYTES(page_bytes)                                                             \
    (((page_bytes) <= 512u     ? 512u                                                            \
      : (page_bytes) <= 1024u  ? 1024u                                                           \
      : (page_bytes) <= 2048u  ? 2048u                                                           \
      : (page_bytes) <= 4096u  ? 4096u                                                           \
      : (page_bytes) <= 8192u  ? 8192u                                                           \
      : (page_bytes) <= 16384u ? 16384u                                                          \
                               : 32768u) *                                                       \
         FP_DEFLATE_PER_BYTE_ +                                                                  \
     FP_DEFLATE_STATES_)

#define FP_DEFLATE_PER_BYTE_ 13u
#define FP_DEFLATE_STATES_ 16384u

struct fp_deflate {
    struct fp_compressor compressor; /* for the config */
    z_stream out;
    z_stream in;
    uint8_t *memory;
    size_t left;
};

/* Returns 0, or FP_COMPRESSOR_INVALID if zlib finds the memory too small, or it is not aligned. */
int fp_deflate_init(struct fp_deflate *deflate, uint32_t page_bytes, void *memory,
                    size_t memory_bytes);

#ifdef __cplusplus
}
#endif

#endif
