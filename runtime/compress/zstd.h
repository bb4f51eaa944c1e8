/* Zstandard at level 1; needs libzstd. Include this file with its folder, as <zstd.h> is
 * Zstandard's own header. */
#ifndef FLASHPAGER_ZSTD_H
#define FLASHPAGER_ZSTD_H

#include "flashpager_compressor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of RAM, aligned to 8: 96 KB to decompress; hash tables and buffers for a page to compress.
 * 178 KB for pages of 4096 bytes and 154 KB for 2048, of which zstd 1.5 needs 170 and 146. */
#define FP_ZSTD_BYTES(page_bytes)                                                                \
    (((page_bytes) <= 1024u    ? 1024u                                                           \
      : (page_bytes) <= 2048u  ? 2048u                                                           \
      : (page_bytes) <= 4096u  ? 4096u                                                           \
      : (page_bytes) <= 8192u  ? 8192u                                                           \
                               : 16384u) *                                                       \
         FP_ZSTD_PER_BYTE_ +                                                                     \
     FP_ZSTD_STATES_)

#define FP_ZSTD_PER_BYTE_ 12u
#define FP_ZSTD_STATES_ 129024u

struct fp_zstd {
    struct fp_compressor compressor; /* for the config */
    struct ZSTD_CCtx_s *out;
    struct ZSTD_DCtx_s *in;
};

/* Returns 0, or FP_COMPRESSOR_INVALID if zstd finds the memory too small, or it is not aligned. */
int fp_zstd_init(struct fp_zstd *zstd, uint32_t page_bytes, void *memory, size_t memory_bytes);

#ifdef __cplusplus
}
#endif

#endif
