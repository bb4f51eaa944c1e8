/* Opens the medium and the store of a device, as the module's parameters say. */
#define pr_fmt(fmt) "flashpager-swap: " fmt

#include "device.h"
#include "hash.h"

#include <linux/crc32.h>
#include <linux/module.h>

enum { LAYOUT_AUTO, LAYOUT_FRAGMENTS, LAYOUT_LOG, LAYOUT_REWRITE };

static const char *const layouts[] = {"auto", "fragments", "log", "rewrite"};

static u32 kernel_crc(u32 crc, const void *data, size_t size)
{
    return ~crc32_le(~crc, data, size);
}

static u32 ram_hash(u32 seed, const void *data, size_t size)
{
    return fpswap_hash(seed, data, size);
}

/* Opens RAM as the medium of a device. */
static int ram_open(struct fpswap *swap, u64 bytes, int *chosen)
{
    int error;

    if (*chosen == LAYOUT_REWRITE) {
        pr_err("layout=rewrite: memory is rewritten in place; take fragments\n");
        return -EINVAL;
    }
    *chosen = *chosen == LAYOUT_AUTO ? LAYOUT_FRAGMENTS : *chosen;
    error = fpswap_ram_open(&swap->ram, bytes, *chosen == LAYOUT_LOG);
    if (error)
        pr_err("no memory for the list of pages; take a smaller medium_size\n");
    return error;
}

/* Opens an MTD as the medium of a device. */
static int mtd_open(struct fpswap *swap, u64 bytes, int *chosen)
{
    const char *medium = fpswap_parameters.medium;
    typeof(fpswap_mtd_open) *open;
    struct fpswap_mtd *mtd;

    open = symbol_request(fpswap_mtd_open);
    if (!open) {
        pr_err("medium=%s: load flashpager-swap-mtd first\n", medium);
        return -ENODEV;
    }
    mtd = open(fpswap_mtd_name(), bytes);
    if (IS_ERR(mtd)) {
        symbol_put(fpswap_mtd_open);
        return PTR_ERR(mtd);
    }
    swap->mtd = mtd;
    if (*chosen == LAYOUT_AUTO)
        *chosen = mtd->in_place ? LAYOUT_FRAGMENTS : LAYOUT_LOG;
    if (*chosen == LAYOUT_FRAGMENTS) {
        if (!mtd->in_place) {
            pr_err("layout=fragments: %s is erased before it is written; take log or rewrite\n",
                   medium);
            return -EINVAL;
        }
        mtd->medium.program_bytes = 1;
    }
    if (*chosen != LAYOUT_LOG && !fpswap_parameters.format) {
        pr_err("layout=%s keeps nothing: format=1 begins with an empty store, and what %s holds is lost\n",
               layouts[*chosen], medium);
        return -EINVAL;
    }
    return 0;
}

/* Opens the medium of a device. `chosen` is the layout; LAYOUT_AUTO is replaced by the medium's usual
 * one. */
static int medium_open(struct fpswap *swap, int *chosen)
{
    const char *medium = fpswap_parameters.medium;
    const char *medium_size = fpswap_parameters.medium_size;
    u64 quarter = ((u64)totalram_pages() / 4) << PAGE_SHIFT;
    u64 bytes = fpswap_parse_size(medium_size, fpswap_mtd_name() ? 0 : quarter);

    if (!fpswap_mtd_name() && strcmp(medium, "ram") != 0) {
        pr_err("medium=%s: there is none; take ram, or mtd:NAME or mtd:NUMBER of /proc/mtd\n",
               medium);
        return -EINVAL;
    }
    if ((bytes || *medium_size || !fpswap_mtd_name()) &&
        (bytes < (1u << 20) || bytes > (2u << 30) - PAGE_SIZE)) {
        pr_err("medium_size=%s: take 1M to 2047M\n", medium_size);
        return -EINVAL;
    }
    return fpswap_mtd_name() ? mtd_open(swap, bytes, chosen) : ram_open(swap, bytes, chosen);
}

/* Opens a rewriter over an MTD that must be erased, so that fragments can lie on it. */
static int rewriter_open(struct fpswap *swap)
{
    const struct fp_medium *nand = &swap->mtd->medium;
    u8 *block = fpswap_table(nand->block_bytes);
    u32 *good = fpswap_table(array_size(nand->block_count, sizeof(*good)));
    int error = block && good ? fp_swap_rewriter_init(&swap->rewriter, nand, block, good)
                              : -ENOMEM;

    /* Set here, as a failed init clears them. */
    swap->rewriter.block = block;
    swap->rewriter.good = good;
    if (error == -ENOMEM)
        pr_err("no memory for an erase block; free some\n");
    else if (error)
        pr_err("%s has no good block\n", fpswap_parameters.medium);
    return error ? -EINVAL : 0;
}

static const char *name_or_none(const struct fp_swap_shape *shape)
{
    return *shape->compressor ? shape->compressor : "none";
}

/* Logs that a medium holds another store than the expected one, and what to do. */
static void refuse_other(const struct fpswap *swap, const struct fp_swap_shape *other)
{
    const char *medium = fpswap_parameters.medium;
    struct fp_swap_shape own;

    fp_swap_shape(&swap->config, &own);
    if (other->version != own.version) {
        pr_err("%s holds a store of version %u, and this is version %u: take the module that made it, or format=1, and what it holds is lost\n",
               medium, other->version, own.version);
        return;
    }
    pr_err("%s holds a store of %u slots, %s, on %u erase blocks of %u bytes, programmed %u together; this one would be of %u slots, %s, on %u of %u bytes, programmed %u together: take its disk_size, compressor and medium_size, or format=1, and what it holds is lost\n",
           medium, other->slot_count, name_or_none(other), other->block_count, other->block_bytes,
           other->program_bytes, own.slot_count, name_or_none(&own), own.block_count,
           own.block_bytes, own.program_bytes);
}

/* Makes an empty store, or mounts the one that an MTD holds. */
static int store_start(struct fpswap *swap)
{
    const char *medium = fpswap_parameters.medium;
    struct fp_swap_config *config = &swap->config;
    bool is_new = fpswap_parameters.format || !swap->mtd;
    int error = is_new ? fp_swap_format(&swap->store, config) : fp_swap_mount(&swap->store, config);
    struct fp_swap_stat stat;

    fp_swap_stat(&swap->store, &stat);
    if (!error && stat.mem_limit < 2 * PAGE_SIZE)
        error = FP_SWAP_INVALID; /* room for no page */
    switch (error) {
    case FP_SWAP_OK:
        return 0;
    case FP_SWAP_INVALID:
        if (config->layout != &fp_swap_log)
            pr_err("sizes that do not fit: take a medium_size of 1M to 2047M\n");
        else if (fp_swap_log_reserve(config) == 0)
            pr_err("layout=log: a log cannot be on %u erase blocks of %u bytes; take another medium\n",
                   config->medium->block_count, config->medium->block_bytes);
        else
            pr_err("layout=log: of %u erase blocks at least %u must be kept free%s\n",
                   config->medium->block_count, fp_swap_log_reserve(config),
                   fpswap_parameters.reserve ? ", and some for pages: take another reserve, or leave it out"
                           : ": take a larger medium");
        return -EINVAL;
    case FP_SWAP_NO_STORE:
        pr_err("%s holds no store: format=1 makes one, and what it holds is lost\n", medium);
        return -EINVAL;
    case FP_SWAP_OTHER:
        refuse_other(swap, fp_swap_other(&swap->store));
        return -EINVAL;
    case FP_SWAP_SMALL:
        pr_err("%s: a log of this disk_size and reserve needs %u good erase blocks, and there are fewer; take a smaller one of both, or another medium\n",
               medium, fp_swap_log_blocks(config));
        return -EINVAL;
    default:
        pr_err("%s could not be %s: error %d\n", medium, is_new ? "formatted" : "read", error);
        return -EIO;
    }
}

/* Opens the compressors of a device. */
static int codecs_open(struct fpswap *swap)
{
    const char *compressor = fpswap_parameters.compressor;
    bool is_raw = strcmp(compressor, "none") == 0;
    int error;

    swap->codecs = fpswap_codecs_open(is_raw ? NULL : compressor);
    if (IS_ERR(swap->codecs)) {
        error = PTR_ERR(swap->codecs);
        pr_err("compressor=%s: %s\n", compressor,
               error == -ENOMEM ? "no memory" : "this kernel has none; see /proc/crypto, or modprobe it");
        /* modprobe would report -ENOENT as an unknown symbol or parameter. */
        return error == -ENOMEM ? error : -EINVAL;
    }
    return 0;
}

/* Fills in the store's configuration, with memory for `slots` slots. */
static int configure_store(struct fpswap *swap, const struct fp_medium *medium, int chosen,
                           u32 slots)
{
    struct fp_swap_config *config = &swap->config;

    *config = (struct fp_swap_config){
        .medium = medium,
        .layout = chosen == LAYOUT_LOG ? &fp_swap_log : &fp_swap_fragments,
        .compressor = raw_cpu_ptr(swap->codecs)->codec.compressor,
        .crc = swap->mtd ? kernel_crc : ram_hash,
        .page_bytes = PAGE_SIZE,
        .slot_count = slots,
        .reserve_blocks = chosen == LAYOUT_LOG ? fpswap_parameters.reserve : 0,
    };
    config->chunk_count = config->slot_count + config->slot_count / 2 + 1;
    config->memory_bytes =
        4 * (chosen == LAYOUT_LOG
                 ? FP_SWAP_LOG_WORDS(config->slot_count, medium->block_count, PAGE_SIZE,
                                     medium->program_bytes)
                 : FP_SWAP_FRAGMENT_WORDS(config->slot_count, config->chunk_count, PAGE_SIZE));
    config->memory = fpswap_table(config->memory_bytes);
    swap->freed = fpswap_table(BITS_TO_LONGS(config->slot_count) * sizeof(long));
    if (!config->memory || !swap->freed) {
        pr_err("no memory for %u slots; take a smaller disk_size\n", config->slot_count);
        return -ENOMEM;
    }
    return 0;
}

int fpswap_open_store(struct fpswap *swap)
{
    const char *layout = fpswap_parameters.layout;
    const char *disk_size = fpswap_parameters.disk_size;
    int chosen = match_string(layouts, ARRAY_SIZE(layouts), layout);
    const struct fp_medium *medium;
    u64 medium_bytes;
    u64 disk_bytes;
    int error;

    if (chosen < 0) {
        pr_err("layout=%s: there is none; take auto, fragments, log or rewrite\n", layout);
        return -EINVAL;
    }
    error = medium_open(swap, &chosen);
    if (error)
        return error;
    if (chosen == LAYOUT_REWRITE) {
        error = rewriter_open(swap);
        if (error)
            return error;
    }
    if (fpswap_parameters.reserve && chosen != LAYOUT_LOG) {
        pr_err("reserve=%u: only a log keeps blocks free; leave it out\n",
               fpswap_parameters.reserve);
        return -EINVAL;
    }
    medium = chosen == LAYOUT_REWRITE ? &swap->rewriter.medium
             : swap->mtd          ? &swap->mtd->medium
                                  : &swap->ram.medium;
    medium_bytes = (u64)medium->block_count * medium->block_bytes;
    disk_bytes = fpswap_parse_size(disk_size, 3 * medium_bytes);
    if (disk_bytes < PAGE_SIZE || disk_bytes >> PAGE_SHIFT > 8 * (medium_bytes >> PAGE_SHIFT)) {
        pr_err("disk_size=%s: take 4K to eight times medium_size\n", disk_size);
        return -EINVAL;
    }
    error = codecs_open(swap);
    if (!error)
        error = configure_store(swap, medium, chosen, disk_bytes >> PAGE_SHIFT);
    return error ? error : store_start(swap);
}
