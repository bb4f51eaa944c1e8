#include "zstd.h"

#include <string.h>

/* Contexts are in the caller's memory. Frames lack the magic number of four bytes. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define LEVEL 1

static uint32_t compress(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                         uint32_t capacity)
{
    const struct fp_zstd *zstd = context;
    size_t size = ZSTD_compress2(zstd->out, out, capacity, page, page_bytes);

    return ZSTD_isError(size) ? 0 : (uint32_t)size;
}

static int decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                      uint32_t page_bytes)
{
    const struct fp_zstd *zstd = context;
    size_t made = ZSTD_decompressDCtx(zstd->in, page, page_bytes, data, size);

    return !ZSTD_isError(made) && made == page_bytes ? 0 : -1;
}

/* Rounds the bytes of a context up. */
static size_t aligned(size_t bytes)
{
    return (bytes + 63u) & ~(size_t)63u;
}

int fp_zstd_init(struct fp_zstd *zstd, uint32_t page_bytes, void *memory, size_t memory_bytes)
{
    size_t in = aligned(ZSTD_estimateDCtxSize());
    size_t out = ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(LEVEL, page_bytes, 0));

    memset(zstd, 0, sizeof(*zstd));
    if (!memory || ZSTD_isError(out) || memory_bytes < in || memory_bytes - in < out) {
        return FP_COMPRESSOR_INVALID;
    }
    zstd->in = ZSTD_initStaticDCtx(memory, in);
    zstd->out = ZSTD_initStaticCCtx((uint8_t *)memory + in, memory_bytes - in);
    if (!zstd->in || !zstd->out ||
        ZSTD_isError(ZSTD_DCtx_setParameter(zstd->in, ZSTD_d_format, ZSTD_f_zstd1_magicless)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(zstd->out, ZSTD_c_format, ZSTD_f_zstd1_magicless)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(zstd->out, ZSTD_c_compressionLevel, LEVEL))) {
        return FP_COMPRESSOR_INVALID;
    }
    zstd->compressor.context = zstd;
    zstd->compressor.compress = compress;
    zstd->compressor.decompress = decompress;
    zstd->compressor.name = "zstd-ml"; /* magicless: not the frames of other programs */
    return FP_COMPRESSOR_OK;
}
