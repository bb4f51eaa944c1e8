#include "deflate.h"

#include <string.h>

/* Returns the smallest window of deflate that holds a page. Raw streams cannot have 8 bits. */
static int window_bits(uint32_t page_bytes)
{
    int bits = 9;

    while (bits < 15 && (uint32_t)1 << bits < page_bytes) {
        bits++;
    }
    return bits;
}

static voidpf allocate(voidpf opaque, uInt items, uInt size)
{
    struct fp_deflate *deflate = opaque;
    size_t bytes = ((size_t)items * size + 15u) & ~(size_t)15u;
    voidpf allocated = deflate->memory;

    if (size == 0 || items > (size_t)-1 / 2u / size || bytes > deflate->left) {
        return Z_NULL;
    }
    deflate->memory += bytes;
    deflate->left -= bytes;
    return allocated;
}

static void release(voidpf opaque, voidpf memory)
{
    (void)opaque;
    (void)memory;
}

static uint32_t compress_page(void *context, const uint8_t *page, uint32_t page_bytes,
                              uint8_t *out, uint32_t capacity)
{
    z_stream *stream = &((struct fp_deflate *)context)->out;

    if (deflateReset(stream) != Z_OK) {
        return 0;
    }
    stream->next_in = (Bytef *)(uintptr_t)page; /* zlib does not write to its input */
    stream->avail_in = (uInt)page_bytes;
    stream->next_out = out;
    stream->avail_out = (uInt)capacity;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? capacity - (uint32_t)stream->avail_out : 0;
}

static int decompress_page(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                           uint32_t page_bytes)
{
    z_stream *stream = &((struct fp_deflate *)context)->in;

    if (inflateReset(stream) != Z_OK) {
        return -1;
    }
    stream->next_in = (Bytef *)(uintptr_t)data;
    stream->avail_in = (uInt)size;
    stream->next_out = page;
    stream->avail_out = (uInt)page_bytes;
    return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_in == 0 &&
                   stream->avail_out == 0
               ? 0
               : -1;
}

int fp_deflate_init(struct fp_deflate *deflate, uint32_t page_bytes, void *memory,
                    size_t memory_bytes)
{
    int bits = window_bits(page_bytes);

    memset(deflate, 0, sizeof(*deflate));
    if (!memory || (uintptr_t)memory % 16u != 0) {
        return FP_COMPRESSOR_INVALID;
    }
    deflate->memory = memory;
    deflate->left = memory_bytes;
    deflate->out.zalloc = allocate;
    deflate->out.zfree = release;
    deflate->out.opaque = deflate;
    deflate->in = deflate->out;
    /* The memory level bits - 6 makes room for a block of as many symbols as a page has bytes. */
    if (deflateInit2(&deflate->out, Z_BEST_SPEED, Z_DEFLATED, -bits, bits - 6,
                     Z_DEFAULT_STRATEGY) != Z_OK ||
        inflateInit2(&deflate->in, -bits) != Z_OK) {
        return FP_COMPRESSOR_INVALID;
    }
    deflate->compressor.context = deflate;
    deflate->compressor.compress = compress_page;
    deflate->compressor.decompress = decompress_page;
    /* The window follows from the page size, so it is not part of the name. */
    deflate->compressor.name = "deflate";
    return FP_COMPRESSOR_OK;
}
