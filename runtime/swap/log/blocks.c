/* What the log knows of erase blocks: what is live in them, which one is opened next, which
 * ones are bad. */
#include "log_internal.h"

void fp_log_set_record(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t old = store->where[slot];

    if (old != NOWHERE) {
        log->blocks[block_of(store, old)].live -= record_bytes(store->size[slot]);
        log->live -= record_bytes(store->size[slot]);
    }
    if (where != NOWHERE) {
        log->blocks[block_of(store, where)].live += record_bytes(size);
        log->live += record_bytes(size);
    }
    fp_swap_settle(store, slot, where, size);
}

void fp_log_mark_urgent(struct fp_swap *store, uint32_t block, uint8_t flags)
{
    struct fp_swap_block *b = &store->of.log.blocks[block];

    if (!(b->flags & FLAG_URGENT) && b->state != BLOCK_FREE && b->state != BLOCK_BAD) {
        store->of.log.urgent++;
        b->flags |= FLAG_URGENT;
    }
    b->flags |= flags;
}

/* Sequence of the oldest block with FLAG_NEEDS_NEXT; NOWHERE. */
static uint32_t oldest_that_needs_next(const struct fp_swap *store)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t oldest = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        if ((blocks[block].flags & FLAG_NEEDS_NEXT) && blocks[block].sequence < oldest) {
            oldest = blocks[block].sequence;
        }
    }
    return oldest;
}

/* The least worn free block: one whose data has long been superseded if there is one, and
 * the oldest one with FLAG_NEEDS_NEXT before all. */
static uint32_t choose_next_block(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t needing = oldest_that_needs_next(store);
    uint32_t best = NOWHERE;
    uint8_t best_rank = 0;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint8_t rank = b->flags & FLAG_RECENT ? 4u : 0u;

        if (b->state != BLOCK_FREE) {
            continue;
        }
        /* Younger ones may be what that one needs. */
        rank |= b->sequence > needing ? 2u : b->flags & FLAG_NEEDS_NEXT ? 0u : 1u;
        if (best == NOWHERE || rank < best_rank ||
            (rank == best_rank && b->erases < log->blocks[best].erases)) {
            best = block;
            best_rank = rank;
        }
    }
    return best;
}

int fp_log_make_bad(struct fp_swap *store, uint32_t block)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_block *b = &store->of.log.blocks[block];

    if (b->flags & FLAG_URGENT) {
        store->of.log.urgent--;
    }
    b->state = BLOCK_BAD;
    b->flags = 0;
    store->stat.bad_blocks++;
    if (medium->mark_bad(medium->context, block) < 0) {
        /* A mount will read what it holds. */
        return FP_SWAP_IO;
    }
    b->sequence = 0;
    return FP_SWAP_OK;
}

int fp_log_open_block(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b;
    struct block_header header;
    uint32_t block;
    int error;

    for (;;) {
        block = log->next != NOWHERE ? log->next : choose_next_block(store);
        log->next = NOWHERE;
        if (block == NOWHERE) {
            return FP_SWAP_FULL;
        }
        b = &log->blocks[block];
        log->free--;
        store->stat.erases++;
        b->erases++;
        if (medium->erase(medium->context, block) >= 0) {
            break;
        }
        error = fp_log_make_bad(store, block);
        if (error) {
            return error;
        }
    }
    if (log->block != NOWHERE && log->page > 0) {
        if (log->blocks[log->block].state == BLOCK_HEAD) {
            log->blocks[log->block].state = BLOCK_CLOSED;
            log->blocks[log->block].pages = (uint16_t)log->page;
        }
        log->last_pages = (uint16_t)log->page;
        log->last_block = log->block;
        log->last_sequence = log->blocks[log->block].sequence;
    }
    if (!log->rescuing) {
        uint32_t i;

        for (i = 0; i < medium->block_count; i++) {
            log->blocks[i].flags &= (uint8_t)~FLAG_RECENT;
        }
    }
    log->block = block;
    log->page = 0;
    if (log->cached / pages_per_block(store) == block) {
        log->cached = NOWHERE;
    }
    b->sequence = ++log->sequence;
    b->live = 0;
    b->pages = 0;
    b->state = BLOCK_HEAD;
    b->flags = 0;
    log->next = choose_next_block(store);
    fp_log_begin_page(store);
    header.epoch = log->epoch;
    header.sequence = log->sequence;
    header.erases = b->erases;
    header.next = log->next;
    header.next_erases = log->next == NOWHERE ? 0 : log->blocks[log->next].erases + 1u;
    header.last_pages = log->last_pages;
    header.last_block = log->last_block;
    header.last_sequence = log->last_sequence;
    fp_log_encode_header(store, log->head, &header);
    return FP_SWAP_OK;
}
