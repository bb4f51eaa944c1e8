/* C helpers of the Rust binding: sizes, macros, and compressors by number. */
#include "compress/deflate.h"
#include "compress/heatshrink.h"
#include "compress/lz4.h"
#include "compress/zstd.h"
#include "medium/emulated.h"
#include "swap/flashpager_swap.h"

enum compressor { DEFLATE, LZ4, ZSTD, HEATSHRINK };

#define ALIGNED(bytes) (((size_t)(bytes) + 15u) & ~(size_t)15u)

size_t fp_shim_store_bytes(void);
size_t fp_shim_rewriter_bytes(void);
const struct fp_medium *fp_shim_rewriter_medium(const struct fp_swap_rewriter *rewriter);
size_t fp_shim_log_words(size_t slots, size_t blocks, uint32_t page_bytes,
                         uint32_t program_bytes);
uint32_t fp_shim_log_reserve(uint32_t program_bytes, uint32_t block_bytes, uint32_t block_count,
                             uint32_t page_bytes, uint32_t slots);
size_t fp_shim_fragment_words(size_t slots, size_t chunks, uint32_t page_bytes);
size_t fp_shim_compressor_bytes(int compressor, uint32_t page_bytes);
const struct fp_compressor *fp_shim_compressor(int compressor, uint32_t page_bytes, void *memory);
size_t fp_shim_size(unsigned number);

size_t fp_shim_store_bytes(void)
{
    return sizeof(struct fp_swap);
}

size_t fp_shim_rewriter_bytes(void)
{
    return sizeof(struct fp_swap_rewriter);
}

const struct fp_medium *fp_shim_rewriter_medium(const struct fp_swap_rewriter *rewriter)
{
    return &rewriter->medium;
}

size_t fp_shim_log_words(size_t slots, size_t blocks, uint32_t page_bytes, uint32_t program_bytes)
{
    return FP_SWAP_LOG_WORDS(slots, blocks, page_bytes, program_bytes);
}

static int no_block(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return FP_MEDIUM_IO;
}

static bool is_no_bad_block(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return false;
}

/* Calls fp_swap_log_reserve() for the shape of a medium, without a medium. */
uint32_t fp_shim_log_reserve(uint32_t program_bytes, uint32_t block_bytes, uint32_t block_count,
                             uint32_t page_bytes, uint32_t slots)
{
    const struct fp_medium medium = {
        .erase = no_block,
        .is_bad = is_no_bad_block,
        .mark_bad = no_block,
        .program_bytes = program_bytes,
        .block_bytes = block_bytes,
        .block_count = block_count,
    };
    const struct fp_swap_config config = {
        .medium = &medium,
        .layout = &fp_swap_log,
        .page_bytes = page_bytes,
        .slot_count = slots,
    };

    return fp_swap_log_reserve(&config);
}

size_t fp_shim_fragment_words(size_t slots, size_t chunks, uint32_t page_bytes)
{
    return FP_SWAP_FRAGMENT_WORDS(slots, chunks, page_bytes);
}

/* Returns the bytes of a compressor's struct and the memory that follows it. */
size_t fp_shim_compressor_bytes(int compressor, uint32_t page_bytes)
{
    switch (compressor) {
    case DEFLATE:
        return ALIGNED(sizeof(struct fp_deflate)) + FP_DEFLATE_BYTES(page_bytes);
    case LZ4:
        return ALIGNED(sizeof(struct fp_lz4)) + FP_LZ4_BYTES;
    case ZSTD:
        return ALIGNED(sizeof(struct fp_zstd)) + FP_ZSTD_BYTES(page_bytes);
    case HEATSHRINK:
        return FP_HEATSHRINK_BYTES;
    default:
        return 0;
    }
}

/* Makes a compressor in `memory`, which is aligned to 16. Returns NULL if it cannot be made. */
const struct fp_compressor *fp_shim_compressor(int compressor, uint32_t page_bytes, void *memory)
{
    switch (compressor) {
    case DEFLATE: {
        struct fp_deflate *deflate = memory;
        uint8_t *behind = (uint8_t *)memory + ALIGNED(sizeof(*deflate));
        return fp_deflate_init(deflate, page_bytes, behind, FP_DEFLATE_BYTES(page_bytes))
                   ? NULL
                   : &deflate->compressor;
    }
    case LZ4: {
        struct fp_lz4 *lz4 = memory;
        uint8_t *behind = (uint8_t *)memory + ALIGNED(sizeof(*lz4));
        return fp_lz4_init(lz4, behind, FP_LZ4_BYTES) ? NULL : &lz4->compressor;
    }
    case ZSTD: {
        struct fp_zstd *zstd = memory;
        uint8_t *behind = (uint8_t *)memory + ALIGNED(sizeof(*zstd));
        return fp_zstd_init(zstd, page_bytes, behind, FP_ZSTD_BYTES(page_bytes))
                   ? NULL
                   : &zstd->compressor;
    }
    case HEATSHRINK: {
        struct fp_heatshrink *heatshrink = memory;
        fp_heatshrink_init(heatshrink);
        return &heatshrink->compressor;
    }
    default:
        return NULL;
    }
}

/* Returns the size of a struct that the binding mirrors, for a comparison. */
size_t fp_shim_size(unsigned number)
{
    static const size_t sizes[] = {
        sizeof(struct fp_medium),          sizeof(struct fp_compressor),
        sizeof(struct fp_swap_config),     sizeof(struct fp_swap_stat),
        sizeof(struct fp_emulated_config), sizeof(struct fp_emulated_counters),
    };

    return number < sizeof(sizes) / sizeof(sizes[0]) ? sizes[number] : 0;
}
