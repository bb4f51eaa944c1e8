/* The log as a layout of the store: what the front (swap.c) calls. */
#include "log_internal.h"

typedef char
    block_bytes_are_as_stated[sizeof(struct fp_swap_block) == FP_SWAP_BLOCK_BYTES ? 1 : -1];

/* Bytes of a block that records surely get: the last one may not fit, none begins in the
 * last page, and in each page a few bytes may be too few for an entry. */
static uint32_t assured_capacity(const struct fp_swap *store)
{
    uint32_t record = store->config->page_bytes + RECORD_OVERHEAD;

    return block_capacity(store) -
           (record > program_bytes(store) ? record : program_bytes(store)) -
           (ENTRY_BYTES - 1u) * pages_per_block(store);
}

/* Bytes that all live records may have. */
static uint64_t live_limit(const struct fp_swap *store)
{
    uint32_t good = store->config->medium->block_count - store->stat.bad_blocks;

    return good > reserve_blocks(store)
               ? (uint64_t)(good - reserve_blocks(store)) * assured_capacity(store)
               : 0;
}

/* A record that a power cut left unfinished at the end of the log does not count, as long
 * as the next block says so. Supersede it by what the slot holds, as the first thing
 * written there, so that it never does. */
static int supersede_unfinished(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot = log->unfinished;
    int error;

    if (slot >= store->config->slot_count) {
        return FP_SWAP_OK;
    }
    error = store->where[slot] == NOWHERE
                ? fp_log_append_lost(store, slot)
                : fp_log_rewrite_record(store, slot, store->where[slot]);
    if (!error) {
        log->unfinished = NOWHERE;
    }
    return error;
}

/* A mount could not say what some slots held, and what tells the next one so may be gone by
 * then: write that they are lost, as far as there is room. */
static int append_lost_slots(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot;

    for (slot = 0; log->lost_unwritten && slot < store->config->slot_count; slot++) {
        int error = FP_SWAP_OK;

        if (store->size[slot] != FP_SWAP_SIZE_LOST) {
            continue;
        }
        if (store->where[slot] == NOWHERE && log->live + RECORD_OVERHEAD > live_limit(store)) {
            break;
        }
        error = fp_log_make_room(store);
        if (!error) {
            error = fp_log_append_lost(store, slot);
        }
        if (error) {
            return error;
        }
    }
    log->lost_unwritten = false;
    return FP_SWAP_OK;
}

/* Append a record with a slot's new content and let it count. */
static int append_entry(struct fp_swap *store, const struct entry *entry, const uint8_t *data)
{
    struct source source = {NULL, 0, 0, 0, 0};
    uint32_t where;
    int error;

    error = supersede_unfinished(store);
    if (!error) {
        error = append_lost_slots(store);
    }
    if (!error) {
        error = fp_log_make_room(store);
    }
    if (error) {
        return error;
    }
    source.data = data;
    error = fp_log_append(store, entry->slot, entry, &source, &where);
    if (!error) {
        fp_log_set_record(store, entry->slot, where, entry->size);
    }
    return error;
}

static int put_record(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      const uint8_t *data)
{
    uint32_t old = store->where[slot] == NOWHERE ? 0 : record_bytes(store->size[slot]);
    uint8_t word[4];
    struct entry entry;
    int error;

    /* What takes no more than before is never refused: a mount finds tombstones again that
     * were given up, so there may be more than the limit. */
    if (record_bytes(record->size) > old &&
        store->of.log.live - old + record_bytes(record->size) > live_limit(store)) {
        return FP_SWAP_FULL;
    }
    entry.slot = slot;
    entry.crc = record->crc;
    entry.size = record->size;
    entry.stored = payload_bytes(record->size);
    if (record->size == FP_SWAP_SIZE_SAME) {
        fp_swap_put32(word, record->word);
        data = word;
    }
    error = append_entry(store, &entry, data);
    if (!error) {
        store->stat.written_size += entry.stored;
    }
    return error;
}

static int drop_slot(struct fp_swap *store, uint32_t slot)
{
    struct entry entry = {slot, 0, FP_SWAP_SIZE_NONE, 0};

    return append_entry(store, &entry, NULL);
}

static void count_space(const struct fp_swap *store, uint64_t *used, uint64_t *limit)
{
    /* Pages' trailers and blocks' headers in proportion. */
    uint32_t block_bytes = store->config->medium->block_bytes;

    *used = store->of.log.live * block_bytes / block_capacity(store);
    *limit = live_limit(store) * block_bytes / block_capacity(store);
}

static uint32_t erase_count(const struct fp_swap *store, uint32_t block)
{
    return store->of.log.blocks[block].erases;
}

static uint64_t memory_words(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;
    uint64_t pages = medium->block_bytes / medium->program_bytes;
    uint64_t entries;

    if (!medium->erase || !medium->is_bad || !medium->mark_bad || medium->program_bytes < 128u ||
        medium->program_bytes > 32768u || pages < 2u || pages > 0xfffeu ||
        (config->reserve_blocks && config->reserve_blocks < FP_SWAP_LOG_RESERVE) ||
        medium->block_count <=
            (config->reserve_blocks ? config->reserve_blocks : FP_SWAP_LOG_RESERVE)) {
        return 0;
    }
    entries = (medium->program_bytes - TRAILER_BYTES) / ENTRY_BYTES;
    /* A block must have room for a page of memory behind the longest list of names. */
    if (pages * entries * medium->block_count >= NOWHERE || medium->block_bytes > 0x7fffffffu ||
        pages * (medium->program_bytes - TRAILER_BYTES - ENTRY_BYTES) <
            (uint64_t)config->page_bytes + HEADER_BYTES + RECORD_OVERHEAD +
                NAME_BYTES * entries) {
        return 0;
    }
    return (uint64_t)medium->block_count * (FP_SWAP_BLOCK_BYTES / 4u) +
           2u * (((uint64_t)medium->program_bytes + 3u) / 4u);
}

/* A mount finds what is there; a format begins a new epoch in a fresh block. */
static int start_log(struct fp_swap *store, uint32_t *memory, bool keep)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page_words = (medium->program_bytes + 3u) / 4u;
    struct block_header newest;
    uint32_t newest_block;
    uint32_t block;
    int error;

    log->blocks = (struct fp_swap_block *)memory;
    memory += (size_t)medium->block_count * (FP_SWAP_BLOCK_BYTES / 4u);
    log->head = (uint8_t *)memory;
    log->cache = (uint8_t *)(memory + (size_t)page_words);
    log->cached = NOWHERE;
    log->block = NOWHERE;
    log->next = NOWHERE;
    log->carrier = NOWHERE;
    log->last_block = NOWHERE;
    log->unfinished = NOWHERE;
    newest_block = fp_log_survey(store, &newest);
    log->epoch = newest.epoch;
    log->sequence = newest.sequence;
    if (keep) {
        if (newest_block == NOWHERE) {
            return FP_SWAP_NO_STORE;
        }
        fp_log_recover(store, &newest, newest_block);
        return FP_SWAP_OK;
    }
    log->epoch++;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        /* None of the blocks is anything's successor. */
        log->sequence = b->sequence > log->sequence ? b->sequence : log->sequence;
        b->sequence = 0;
        b->pages = 0;
        log->free += b->state == BLOCK_FREE;
    }
    if (newest.next < medium->block_count && log->blocks[newest.next].state == BLOCK_FREE) {
        log->next = newest.next;
    }
    error = fp_log_open_block(store);
    while (!error && (error = fp_log_program_head(store)) == PROGRAM_FAILED) {
        error = fp_log_rescue_head(store);
    }
    return error;
}

const struct fp_swap_layout fp_swap_log = {
    .words = memory_words,
    .start = start_log,
    .put = put_record,
    .find = fp_log_find,
    .fetch = fp_log_fetch,
    .drop = drop_slot,
    .sync = fp_log_sync,
    .space = count_space,
    .erase_count = erase_count,
    .check = fp_log_check,
};
