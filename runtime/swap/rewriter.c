/* NAND that is rewritten in place, as in MTDCOMPR and Linux' mtdblock: the erase block is read,
 * changed in memory, erased and programmed again. */
#include "swap_internal.h"

#include <string.h>

/* One good block in this many is a spare for those that go bad. */
#define BLOCKS_PER_SPARE 64u

/* Writes the cached block back. A spare replaces a block that fails. */
int fp_swap_rewriter_flush(struct fp_swap_rewriter *rewriter)
{
    const struct fp_medium *nand = rewriter->nand;

    if (!rewriter->dirty) {
        return FP_SWAP_OK;
    }
    for (;;) {
        uint32_t *good = &rewriter->good[rewriter->cached];
        int error = nand->erase(nand->context, *good);
        uint32_t offset;

        for (offset = 0; offset < nand->block_bytes && !error; offset += nand->program_bytes) {
            error = nand->program(nand->context, *good, offset, rewriter->block + offset,
                                  nand->program_bytes);
        }
        if (!error) {
            rewriter->dirty = false;
            return FP_SWAP_OK;
        }
        if (rewriter->spares == 0) {
            return FP_SWAP_IO;
        }
        /* The block is not used again, even if the mark cannot be set. */
        (void)nand->mark_bad(nand->context, *good);
        rewriter->spares--;
        *good = rewriter->good[rewriter->medium.block_count + rewriter->spares];
    }
}

static int read_bytes(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    struct fp_swap_rewriter *rewriter = context;
    const struct fp_medium *nand = rewriter->nand;

    if (block == rewriter->cached) {
        memcpy(data, rewriter->block + offset, size);
        return FP_MEDIUM_OK;
    }
    return nand->read(nand->context, rewriter->good[block], offset, data, size);
}

static int program_bytes(void *context, uint32_t block, uint32_t offset, const void *data,
                         uint32_t size)
{
    struct fp_swap_rewriter *rewriter = context;
    const struct fp_medium *nand = rewriter->nand;

    if (block != rewriter->cached) {
        if (fp_swap_rewriter_flush(rewriter)) {
            return FP_MEDIUM_IO;
        }
        rewriter->cached = FP_SWAP_NOWHERE;
        if (nand->read(nand->context, rewriter->good[block], 0, rewriter->block,
                       nand->block_bytes) < 0) {
            return FP_MEDIUM_IO;
        }
        rewriter->cached = block;
    }
    memcpy(rewriter->block + offset, data, size);
    rewriter->dirty = true;
    return FP_MEDIUM_OK;
}

int fp_swap_rewriter_init(struct fp_swap_rewriter *rewriter, const struct fp_medium *nand,
                          uint8_t *block, uint32_t *good)
{
    uint32_t count = 0;
    uint32_t at;

    if (!rewriter || !nand || !block || !good || !nand->read || !nand->program || !nand->erase ||
        !nand->is_bad || !nand->mark_bad || nand->program_bytes == 0 ||
        nand->block_bytes % nand->program_bytes != 0) {
        return FP_SWAP_INVALID;
    }
    for (at = 0; at < nand->block_count; at++) {
        if (!nand->is_bad(nand->context, at)) {
            good[count++] = at;
        }
    }
    if (count == 0) {
        return FP_SWAP_INVALID;
    }
    memset(rewriter, 0, sizeof(*rewriter));
    rewriter->spares = count > 1u ? (count + BLOCKS_PER_SPARE - 1u) / BLOCKS_PER_SPARE : 0;
    rewriter->medium.context = rewriter;
    rewriter->medium.read = read_bytes;
    rewriter->medium.program = program_bytes;
    rewriter->medium.program_bytes = 1;
    rewriter->medium.block_bytes = nand->block_bytes;
    rewriter->medium.block_count = count - rewriter->spares;
    rewriter->nand = nand;
    rewriter->block = block;
    rewriter->good = good;
    rewriter->cached = FP_SWAP_NOWHERE;
    return FP_SWAP_OK;
}
