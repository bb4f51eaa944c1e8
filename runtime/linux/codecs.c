/* The kernel's compressors, as callbacks of the store. */
#include "fpswap.h"

#include <linux/percpu.h>
#include <linux/slab.h>

static u32 compress(void *context, const u8 *page, u32 page_bytes, u8 *out, u32 capacity)
{
    struct fpswap_codec *codec = context;
    unsigned int size = capacity;

    /* Every error counts as "does not fit": the page is stored uncompressed. */
    return fpswap_compress(codec->transform, page, page_bytes, out, &size) ? 0 : size;
}

static int decompress(void *context, const u8 *data, u32 size, u8 *page, u32 page_bytes)
{
    struct fpswap_codec *codec = context;
    unsigned int out = page_bytes;

    return fpswap_decompress(codec->transform, data, size, page, &out) ||
           out != page_bytes;
}

/* Returns the name of what a compressor writes, as the store records it. */
static const char *format_of(const char *compressor)
{
    if (strcmp(compressor, "lz4hc") == 0)
        return "lz4"; /* read by the same function */
    if (strcmp(compressor, "deflate") == 0)
        return "defl-11"; /* of a window that others' do not fit into */
    return compressor;
}

static int codec_open(struct fpswap_codec *codec, const char *compressor)
{
    mutex_init(&codec->lock);
    codec->codec.stage = kmalloc(PAGE_SIZE, GFP_KERNEL);
    if (!codec->codec.stage)
        return -ENOMEM;
    if (!compressor)
        return 0;
    codec->transform = fpswap_transform_open(compressor);
    if (IS_ERR(codec->transform)) {
        int error = PTR_ERR(codec->transform);

        codec->transform = NULL;
        return error;
    }
    codec->compressor = (struct fp_compressor){
        .context = codec,
        .compress = compress,
        .decompress = decompress,
        .name = codec->format,
    };
    /* A log on an MTD keeps no longer names apart. */
    strscpy(codec->format, format_of(compressor), sizeof(codec->format));
    codec->codec.compressor = &codec->compressor;
    return 0;
}

struct fpswap_codec __percpu *fpswap_codecs_open(const char *compressor)
{
    struct fpswap_codec __percpu *codecs = alloc_percpu(struct fpswap_codec);
    int cpu;

    if (!codecs)
        return ERR_PTR(-ENOMEM);
    for_each_possible_cpu(cpu) {
        int error = codec_open(per_cpu_ptr(codecs, cpu), compressor);

        if (error) {
            fpswap_codecs_close(codecs);
            return ERR_PTR(error);
        }
    }
    return codecs;
}

void fpswap_codecs_close(struct fpswap_codec __percpu *codecs)
{
    int cpu;

    for_each_possible_cpu(cpu) {
        struct fpswap_codec *codec = per_cpu_ptr(codecs, cpu);

        kfree(codec->codec.stage);
        if (codec->transform)
            fpswap_transform_close(codec->transform);
    }
    free_percpu(codecs);
}

struct fpswap_codec *fpswap_codec_take(struct fpswap_codec __percpu *codecs)
{
    struct fpswap_codec *codec = raw_cpu_ptr(codecs);

    mutex_lock(&codec->lock);
    return codec;
}

void fpswap_codec_give(struct fpswap_codec *codec)
{
    mutex_unlock(&codec->lock);
}
