/* The log as a layout: the functions that the store's front (swap.c) calls. */
#include "log_internal.h"

#include <string.h>

typedef char
    block_bytes_are_as_stated[sizeof(struct fp_swap_block) == FP_SWAP_BLOCK_BYTES ? 1 : -1];

/* Fewest pages of a block: a meta block has three pairs or more. */
#define LEAST_PAGES 6u
#define LEAST_PROGRAM_BYTES 256u

/* Returns true if a compressor's name fits into the shape. */
static bool is_name(const char *name)
{
    size_t size = 0;

    while (name && size <= FP_COMPRESSOR_NAME && name[size] != '\0') {
        size++;
    }
    return size > 0 && size <= FP_COMPRESSOR_NAME;
}

static bool is_geometry(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;

    return medium->erase && medium->is_bad && medium->mark_bad &&
           medium->program_bytes >= LEAST_PROGRAM_BYTES && medium->program_bytes <= 32768u &&
           medium->program_bytes % 4u == 0 && medium->block_bytes <= 0x7fffffffu &&
           medium->block_bytes / medium->program_bytes >= LEAST_PAGES &&
           medium->block_bytes / medium->program_bytes <= 0xfffeu &&
           medium->block_count < NO_BLOCK && config->slot_count < KEY_SLOT - NO_BLOCK &&
           (uint64_t)medium->block_count * (medium->block_bytes / 4u) < NOWHERE &&
           config->page_bytes + RECORD_HEADER + PREAMBLE_BYTES <= medium->block_bytes &&
           (!config->compressor || is_name(config->compressor->name));
}

/* Returns the least reserve of a config whose geometry is possible. */
static uint32_t least_reserve(const struct fp_swap_config *config)
{
    struct fp_swap store;
    uint64_t slack = fp_log_slack(config);
    uint32_t blocks = config->medium->block_count;
    /* The reserve also keeps enough dead bytes in each victim: after cuts, each block may have an
     * unused space of half a record. */
    uint32_t dead = blocks / 32u;
    uint32_t halves =
        (uint32_t)FP_DIV64((uint64_t)blocks * (RECORD_HEADER + config->page_bytes) / 2u,
                           config->medium->block_bytes);

    store.config = config;
    return fp_log_meta_limit(&store) + 1u +
           (uint32_t)FP_DIV64(slack + config->medium->block_bytes - 1u,
                              config->medium->block_bytes) +
           4u + (blocks < 64u) + (dead > halves ? dead : halves);
}

uint32_t fp_swap_log_reserve(const struct fp_swap_config *config)
{
    return config && config->medium && config->medium->program_bytes > 0 && is_geometry(config)
               ? least_reserve(config)
               : 0;
}

uint32_t fp_swap_log_blocks(const struct fp_swap_config *config)
{
    uint32_t least = fp_swap_log_reserve(config);

    if (least == 0) {
        return 0;
    }
    return (config->reserve_blocks > least ? config->reserve_blocks : least) + 1u;
}

uint32_t fp_swap_log_write_bound(const struct fp_swap_config *config)
{
    struct fp_swap store;
    uint32_t largest;
    uint32_t smallest;
    uint32_t pages;
    uint32_t moves;
    uint32_t commits;

    if (fp_swap_log_reserve(config) == 0) {
        return 0;
    }
    store.config = config;
    pages = pages_per_block(&store);
    largest = RECORD_HEADER + config->page_bytes;
    smallest = config->compressor ? RECORD_HEADER + 4u : largest;
    /* The worst victims are full of live records, and records cross the borders of their blocks. */
    moves = FP_LOG_VICTIMS * (block_bytes(&store) / smallest + 2u);
    commits = 2u * moves / journal_capacity(&store) + 2u * FP_LOG_VICTIMS + 4u;
    /* Pages of the victims are read to find records, once more after each commit; a record is read
     * in a piece for each page it comes from or goes to. */
    return FP_LOG_VICTIMS * pages + commits + moves +
           moves * (2u * (largest / program_bytes(&store) + 2u)) +
           /* Programs: what is moved, the record, pages filled up, pairs. */
           (FP_LOG_VICTIMS + 1u) * (pages + 2u) + largest / program_bytes(&store) + 2u +
           commits * (head_count(&store) + 6u) +
           /* Erases. */
           FP_LOG_VICTIMS + 2u + commits;
}

/* Returns the most bytes that all live records may have. */
static uint64_t live_limit(const struct fp_swap *store)
{
    uint32_t good = block_count(store) - store->stat.bad_blocks;
    uint32_t reserve = store->of.log.reserve;

    return good > reserve ? (uint64_t)(good - reserve) * (block_bytes(store) - PREAMBLE_BYTES) : 0;
}

/* Appends a slot's record. */
static FP_APART int append_record(struct fp_swap *store, uint32_t slot,
                                  const struct fp_swap_record *record, const uint8_t *data,
                                  uint32_t *location)
{
    uint32_t bytes = has_record(record->size) ? record_bytes(record->size) : 0;
    struct record_header header = {slot, record->crc, record->size};
    struct source source;
    uint32_t head = fp_log_age_of_write(store, slot);
    int error = fp_log_prepare(store, bytes, &head);

    if (error || bytes == 0) {
        return error;
    }
    source.data = data;
    source.left = record->size;
    fp_log_encode_record(source.header, &header);
    error = fp_log_append(store, head, slot, &source, bytes);
    *location = store->of.log.heads[head].location;
    store->stat.written_size += error ? 0 : record->size;
    return error;
}

static int put_record(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      const uint8_t *data)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t old = has_record(store->size[slot]) ? record_bytes(store->size[slot]) : 0;
    uint32_t bytes = has_record(record->size) ? record_bytes(record->size) : 0;
    uint32_t location = record->word;
    uint32_t bad_blocks;
    int error;

    if (log->failed) {
        return FP_SWAP_IO;
    }
    if (bytes > old && log->live - old + bytes > live_limit(store)) {
        return FP_SWAP_FULL;
    }
    /* A block that goes bad may be the last free one: then more is collected. */
    do {
        bad_blocks = store->stat.bad_blocks;
        /* The collection that the write has to pay for. */
        error = fp_log_collect(store, bytes);
        if (!error) {
            error = append_record(store, slot, record, data, &location);
        }
    } while (error == FP_SWAP_FULL && store->stat.bad_blocks > bad_blocks);
    if (!error) {
        log->clock++;
        fp_log_set_record(store, slot, location, record->size);
        fp_log_note(store, slot, location, record->size);
    }
    return error;
}

static int drop_slot(struct fp_swap *store, uint32_t slot)
{
    uint32_t head = 0;
    int error = store->of.log.failed ? FP_SWAP_IO : fp_log_prepare(store, 0, &head);

    if (!error) {
        fp_log_set_record(store, slot, NOWHERE, FP_SWAP_SIZE_NONE);
        fp_log_note(store, slot, NOWHERE, FP_SWAP_SIZE_NONE);
    }
    return error;
}

static void count_space(const struct fp_swap *store, uint64_t *used, uint64_t *limit)
{
    *used = store->of.log.live;
    *limit = live_limit(store);
}

static uint32_t erase_count(const struct fp_swap *store, uint32_t block)
{
    return store->of.log.blocks[block].erases;
}

static uint64_t memory_words(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;
    uint32_t least;

    if (!is_geometry(config)) {
        return 0;
    }
    least = least_reserve(config);
    if ((config->reserve_blocks && config->reserve_blocks < least) ||
        medium->block_count <= (config->reserve_blocks ? config->reserve_blocks : least)) {
        return 0;
    }
    return (uint64_t)medium->block_count * (FP_SWAP_BLOCK_BYTES / 4u) +
           (FP_SWAP_LOG_HEADS_OF(medium->block_count) + 2u) *
               (((uint64_t)medium->program_bytes + 3u) / 4u);
}

/* Returns true if the config's function is CRC-32, by its value for the usual text. */
static bool is_crc32(const struct fp_swap *store)
{
    return fp_swap_crc(store, 0, "123456789", 9) == 0xcbf43926u;
}

static bool has_failed(const struct fp_swap *store)
{
    return store->of.log.failed;
}

static int start_log(struct fp_swap *store, uint32_t *memory, bool keep)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page_words = (program_bytes(store) + 3u) / 4u;
    uint32_t age;

    log->reserve = store->config->reserve_blocks ? store->config->reserve_blocks
                                                 : least_reserve(store->config);
    log->blocks = (struct fp_swap_block *)memory;
    memory += (size_t)block_count(store) * (FP_SWAP_BLOCK_BYTES / 4u);
    for (age = 0; age < head_count(store); age++) {
        log->heads[age].page = (uint8_t *)memory;
        memory += page_words;
    }
    log->journal = (uint8_t *)memory;
    log->page = (uint8_t *)(memory + page_words);
    if (keep && !is_crc32(store)) {
        return FP_SWAP_INVALID;
    }
    return keep ? fp_log_mount(store) : fp_log_format(store);
}

const struct fp_swap_layout fp_swap_log = {
    .words = memory_words,
    .start = start_log,
    .put = put_record,
    .find = fp_log_find,
    .fetch = fp_log_fetch,
    .drop = drop_slot,
    .sync = fp_log_sync,
    .has_failed = has_failed,
    .idle = fp_log_idle,
    .space = count_space,
    .erase_count = erase_count,
    .check = fp_log_check,
};
