/* fp_swap_check() of a log: compares memory with itself and with the medium. */
#include "log_internal.h"

/* Returns NULL if a slot's record lies where memory places it, else the contradiction. A record
 * that cannot be read is no contradiction: reading the page reports it. */
static const char *check_slot(struct fp_swap *store, uint32_t slot)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t location = store->location[slot];
    uint8_t bytes[RECORD_HEADER];
    struct record_header header;
    uint32_t state;

    if (store->size[slot] >= SIZE_UNKNOWN && store->size[slot] != FP_SWAP_SIZE_SAME &&
        store->size[slot] != FP_SWAP_SIZE_LOST) {
        return "a slot was not met by the mount";
    }
    if (!has_record(store->size[slot])) {
        return NULL;
    }
    if (block_of(store, location) >= block_count(store)) {
        return "a page is outside the medium";
    }
    state = state_of(&log->blocks[block_of(store, location)]);
    if (state != BLOCK_CLOSED && state != BLOCK_OPEN) {
        return "a page is in a block that is free, bad or of the meta stream";
    }
    if (fp_log_read_record(store, location, 0, bytes, RECORD_HEADER)) {
        return NULL;
    }
    if (!fp_log_parse_record(bytes, &header)) {
        return NULL;
    }
    return header.slot == slot && header.size == store->size[slot] ? NULL
                                                                   : "a record is another's";
}

/* Returns the bytes of a slot's record in a block. */
static uint32_t bytes_in(const struct fp_swap *store, uint32_t slot, uint32_t block)
{
    uint32_t location = store->location[slot];
    uint16_t size = store->size[slot];
    uint32_t first;
    uint32_t bytes = 0;

    if (!has_record(size) || block_of(store, location) >= block_count(store)) {
        return 0;
    }
    first = bytes_in_first(store, location, size);
    if (block_of(store, location) == block) {
        bytes += first;
    }
    if (first < record_bytes(size) &&
        store->of.log.blocks[block_of(store, location)].next == block) {
        bytes += record_bytes(size) - first;
    }
    return bytes;
}

const char *fp_log_check(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t counts[BLOCK_BAD + 1u] = {0};
    uint32_t zone_free = 0;
    uint32_t urgent = 0;
    uint32_t unsaved = 0;
    uint64_t live = 0;
    uint32_t block;
    uint32_t slot;

    for (block = 0; block < block_count(store); block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint32_t state = state_of(b);
        uint32_t in_block = 0;

        counts[state]++;
        zone_free += state == BLOCK_FREE && is_in_zone(store, block);
        urgent += (b->flags & FLAG_URGENT) != 0;
        unsaved += (b->flags & FLAG_UNSAVED) != 0;
        for (slot = 0; slot < store->config->slot_count; slot++) {
            in_block += bytes_in(store, slot, block);
        }
        live += in_block;
        if (state == BLOCK_META ? in_block != 0
                                : (state == BLOCK_OPEN || state == BLOCK_CLOSED || in_block > 0) &&
                                      in_block != b->live) {
            return "a block's live bytes are not those of its records";
        }
        if (in_block > 0 && state != BLOCK_OPEN && state != BLOCK_CLOSED) {
            return "a free or bad block holds live records";
        }
        if (state == BLOCK_META && !is_in_zone(store, block)) {
            return "a block of the meta stream is outside the zone";
        }
    }
    if (live != log->live || counts[BLOCK_FREE] != log->free || counts[BLOCK_FREED] != log->freed ||
        counts[BLOCK_META] != log->meta_blocks || counts[BLOCK_BAD] != store->stat.bad_blocks ||
        zone_free != log->zone_free || urgent != log->urgent || unsaved != log->unsaved) {
        return "blocks or live bytes are miscounted";
    }
    for (slot = 0; slot < store->config->slot_count; slot++) {
        const char *wrong = check_slot(store, slot);

        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}
