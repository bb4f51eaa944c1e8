/* flashpager compressor: callbacks that compress pages of memory. */
#ifndef FLASHPAGER_COMPRESSOR_H
#define FLASHPAGER_COMPRESSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most characters of a compressor's name. */
#define FP_COMPRESSOR_NAME 8u

/* compress() returns the bytes written to `out`, or 0 if they would be more than `capacity`.
 * decompress() returns 0 if exactly `page_bytes` came out. Neither may read or write outside its
 * buffers, whatever the data: data from a medium is checked only after it has been decompressed.
 *
 * `name` names the format of the compressed data, in 1 to FP_COMPRESSOR_NAME characters: two
 * compressors have one name only if each decompresses what the other made. A medium records it, so
 * that a store is not mounted with a compressor that cannot read its pages. Only media that lose
 * their pages with the power do without: there it may be NULL. */
struct fp_compressor {
    void *context;
    uint32_t (*compress)(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                         uint32_t capacity);
    int (*decompress)(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                      uint32_t page_bytes);
    const char *name;
};

/* Results of the init functions of compressors. */
enum fp_compressor_result {
    FP_COMPRESSOR_OK = 0,
    FP_COMPRESSOR_INVALID = -1, /* the memory is too small, or not aligned */
};

#ifdef __cplusplus
}
#endif

#endif
