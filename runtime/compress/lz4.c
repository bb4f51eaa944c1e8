#include "lz4.h"

#include <lz4.h>

static uint32_t compress(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                         uint32_t capacity)
{
    struct fp_lz4 *lz4 = context;

    return (uint32_t)LZ4_compress_fast_extState(lz4->state, (const char *)page, (char *)out,
                                                (int)page_bytes, (int)capacity, 1);
}

static int decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                      uint32_t page_bytes)
{
    (void)context;
    return LZ4_decompress_safe((const char *)data, (char *)page, (int)size, (int)page_bytes) ==
                   (int)page_bytes
               ? 0
               : -1;
}

int fp_lz4_init(struct fp_lz4 *lz4, void *memory, size_t memory_bytes)
{
    if (!memory || (uintptr_t)memory % 8u != 0 || memory_bytes < (size_t)LZ4_sizeofState()) {
        return FP_COMPRESSOR_INVALID;
    }
    lz4->state = memory;
    lz4->compressor.context = lz4;
    lz4->compressor.compress = compress;
    lz4->compressor.decompress = decompress;
    lz4->compressor.name = "lz4";
    return FP_COMPRESSOR_OK;
}
