/* fp_swap_check() of a log: memory against itself and against the medium. */
#include "log_internal.h"

/* Whether a slot's record stands where memory says. */
static const char *check_slot(struct fp_swap *store, uint32_t slot)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t where = store->where[slot];
    uint32_t page = page_of(store, where);
    uint32_t index = where % entries_per_page(store);
    const struct fp_swap_block *block;
    struct directory directory;
    struct entry entry;

    if (where == NOWHERE) {
        return store->size[slot] == FP_SWAP_SIZE_NONE || store->size[slot] == FP_SWAP_SIZE_LOST
                   ? NULL
                   : "a page is nowhere";
    }
    if (page / pages_per_block(store) >= store->config->medium->block_count) {
        return "a page is outside the medium";
    }
    block = &log->blocks[page / pages_per_block(store)];
    if (block->state != BLOCK_CLOSED && block->state != BLOCK_HEAD) {
        return "a page is in a block that is free or bad";
    }
    if (page == head_page(store)) {
        directory = fp_log_head_directory(store);
    } else if (fp_log_load_current_page(store, page, &directory)) {
        return NULL; /* unreadable: reading says so */
    }
    if (store->size[slot] == FP_SWAP_SIZE_LOST) {
        return NULL;
    }
    if (index >= directory.count) {
        return "a record is missing";
    }
    entry = fp_log_get_entry(store, &directory, index);
    return entry.slot == slot && entry.size == store->size[slot] ? NULL : "a record is another's";
}

const char *fp_log_check(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t count = store->config->medium->block_count;
    uint32_t free_blocks = 0;
    uint32_t bad = 0;
    uint32_t urgent = 0;
    uint64_t live = 0;
    uint32_t block;
    uint32_t slot;

    for (block = 0; block < count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint32_t in_block = 0;

        for (slot = 0; slot < store->config->slot_count; slot++) {
            if (store->where[slot] != NOWHERE && block_of(store, store->where[slot]) == block) {
                in_block += record_bytes(store->size[slot]);
            }
        }
        if (in_block != b->live) {
            return "a block's live bytes are not those of its records";
        }
        live += in_block;
        free_blocks += b->state == BLOCK_FREE;
        bad += b->state == BLOCK_BAD;
        urgent += (b->flags & FLAG_URGENT) != 0;
        if (b->live > 0 && (b->state == BLOCK_FREE || b->state == BLOCK_BAD)) {
            return "a free or bad block holds live records";
        }
        if ((b->state == BLOCK_HEAD) != (block == log->block)) {
            return "the head is not in its block";
        }
    }
    if (live != log->live || free_blocks != log->free || bad != store->stat.bad_blocks ||
        urgent != log->urgent) {
        return "blocks or live bytes are miscounted";
    }
    if (log->next != NOWHERE && log->blocks[log->next].state != BLOCK_FREE) {
        return "the next block is not free";
    }
    for (slot = 0; slot < store->config->slot_count; slot++) {
        const char *wrong = check_slot(store, slot);

        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}
