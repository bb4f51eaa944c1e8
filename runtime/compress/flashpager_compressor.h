/* flashpager compressor: a callback that makes pages of memory smaller. */
#ifndef FLASHPAGER_COMPRESSOR_H
#define FLASHPAGER_COMPRESSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* compress() gives the bytes written into `out`, or 0 where they would be more than
 * `capacity`; decompress() gives 0 if exactly `page_bytes` came out. Neither may read or
 * write outside what it is given, whatever the data: what a medium gave is checked only
 * after it has been decompressed. */
struct fp_compressor {
    void *context;
    uint32_t (*compress)(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                         uint32_t capacity);
    int (*decompress)(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                      uint32_t page_bytes);
};

/* What the init functions of compressors return. */
enum fp_compressor_result {
    FP_COMPRESSOR_OK = 0,
    FP_COMPRESSOR_INVALID = -1, /* the memory is too small, or not aligned as it must be */
};

#ifdef __cplusplus
}
#endif

#endif
