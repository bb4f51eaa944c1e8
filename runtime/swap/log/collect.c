/* Garbage collection and wear levelling: live records move to the head, their blocks
 * become free. */
#include "log_internal.h"

/* Blocks more that are freed at a time where the reserve allows: what is moved then
 * fills blocks of its own, apart from what is written, and lies still longer. */
#define BATCH 4u

/* Whether no other block can hold an older record than this one does. */
static bool is_oldest(const struct fp_swap *store, uint32_t block)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t i;

    for (i = 0; i < store->config->medium->block_count; i++) {
        if (blocks[i].sequence != 0 && blocks[i].sequence < blocks[block].sequence) {
            return false;
        }
    }
    return true;
}

/* Lose what is left in a block whose directories cannot be read. */
static int lose_unreadable(struct fp_swap *store, uint32_t block)
{
    uint32_t slot;
    int error = FP_SWAP_OK;

    for (slot = 0;
         slot < store->config->slot_count && !error && store->of.log.blocks[block].live > 0;
         slot++) {
        uint32_t where = store->where[slot];

        if (where != NOWHERE && block_of(store, where) == block) {
            error = fp_log_append_lost(store, slot);
        }
    }
    return error;
}

/* Move a page's live records to the head. */
static int collect_page(struct fp_swap *store, uint32_t page, bool oldest)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct directory directory;
    uint32_t index;
    uint32_t offset = 0;

    for (index = 0;; index++) {
        struct entry entry;
        int error;

        /* A rescue may have used the cache. */
        if ((index == 0 || log->cached != page) &&
            fp_log_load_current_page(store, page, &directory)) {
            return FP_SWAP_OK;
        }
        if (index == directory.count) {
            return FP_SWAP_OK;
        }
        if (index == 0) {
            offset = payload_begin(&directory) + directory.carried;
        }
        entry = fp_log_get_entry(store, &directory, index);
        error = FP_SWAP_OK;
        if (entry.slot < store->config->slot_count &&
            store->where[entry.slot] == where_of(store, page, index)) {
            if (oldest && store->size[entry.slot] == FP_SWAP_SIZE_NONE) {
                fp_log_set_record(store, entry.slot, NOWHERE, FP_SWAP_SIZE_NONE);
            } else {
                error = fp_log_move_record(store, where_of(store, page, index), &directory,
                                           offset, &entry);
            }
        }
        if (error) {
            return error;
        }
        offset += entry.stored;
    }
}

static int collect_block(struct fp_swap *store, uint32_t block);

/* Empty and erase the blocks with FLAG_NEEDS_NEXT that the block with this sequence may be
 * next to: what does not count in them could be taken up when that one is there no more. */
static int erase_blocks_that_need(struct fp_swap *store, uint32_t sequence)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        int error = FP_SWAP_OK;

        if (!(b->flags & FLAG_NEEDS_NEXT) || b->sequence >= sequence) {
            continue;
        }
        if (b->state == BLOCK_CLOSED) {
            error = collect_block(store, block);
        }
        if (!error) {
            error = fp_log_sync(store);
        }
        if (error) {
            return error;
        }
        if (!(b->flags & FLAG_NEEDS_NEXT)) {
            continue; /* opened or marked bad meanwhile */
        }
        store->stat.erases++;
        b->erases++;
        b->flags = 0;
        b->sequence = 0;
        if (medium->erase(medium->context, block) < 0) {
            log->free--;
            error = fp_log_make_bad(store, block);
            if (error) {
                return error;
            }
        }
    }
    return FP_SWAP_OK;
}

/* Make a closed block free. */
static int collect_block(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block];
    bool oldest = is_oldest(store, block);
    uint32_t page;
    int error;

    for (page = 0; page < b->pages && b->live > 0; page++) {
        error = collect_page(store, block * pages_per_block(store) + page, oldest);
        if (error) {
            return error;
        }
    }
    error = lose_unreadable(store, block);
    if (error) {
        return error;
    }
    if (b->flags & FLAG_RETIRED) {
        /* What is bad is not looked at by a mount. */
        error = fp_log_sync(store);
        if (!error) {
            error = erase_blocks_that_need(store, b->sequence);
        }
        return error ? error : fp_log_make_bad(store, block);
    }
    if (b->flags & FLAG_URGENT) {
        log->urgent--;
    }
    b->state = BLOCK_FREE;
    b->flags = (uint8_t)((b->flags & FLAG_NEEDS_NEXT) | FLAG_RECENT);
    log->free++;
    return FP_SWAP_OK;
}

/* The block to collect: where most is gained for the least moved, longest left alone
 * (cost-benefit of Rosenblum and Ousterhout, 1992), less worn ones first. `greedy`:
 * where most is gained. */
static uint32_t choose_victim(const struct fp_swap *store, bool greedy, uint32_t mean_erases)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t best = NOWHERE;
    uint64_t best_score = 0;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint32_t dead = block_capacity(store) > b->live ? block_capacity(store) - b->live : 0;
        uint64_t score = dead;

        if (b->state != BLOCK_CLOSED) {
            continue;
        }
        if (!greedy) {
            /* In blocks; a turn of the medium more, so that what is merely young is not
             * kept from its turn. */
            uint32_t age = log->sequence - b->sequence + store->config->medium->block_count;
            uint32_t young = b->erases < mean_erases ? mean_erases - b->erases : 0;

            score = score * 256u / (block_capacity(store) + b->live) * age;
            score += score * (young < 16u ? young : 16u) / 4u;
        }
        if (score > best_score) {
            best_score = score;
            best = block;
        }
    }
    return best;
}

static uint32_t mean_erases(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t count = store->config->medium->block_count;
    uint64_t sum = 0;
    uint32_t block;

    for (block = 0; block < count; block++) {
        sum += log->blocks[block].erases;
    }
    return (uint32_t)(sum / count);
}

/* A closed block in any of the given states of urgency, or one that lies still while
 * others wear out: that is moved, so that its block takes part. */
static uint32_t choose_urgent_victim(const struct fp_swap *store, uint32_t mean)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t urgent = NOWHERE;
    uint32_t best = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];

        if (b->state != BLOCK_CLOSED) {
            continue;
        }
        if ((b->flags & FLAG_URGENT) &&
            (urgent == NOWHERE || b->sequence < log->blocks[urgent].sequence)) {
            urgent = block;
        }
        if (b->erases + 1u + mean / 16u < mean &&
            (best == NOWHERE || b->erases < log->blocks[best].erases)) {
            best = block;
        }
    }
    return urgent != NOWHERE ? urgent : best;
}

int fp_log_make_room(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t goal = FREE_BLOCKS;
    uint32_t tries = 0;
    uint32_t mean;
    uint32_t block;
    int error;

    if (log->free >= FREE_BLOCKS && log->urgent == 0) {
        return FP_SWAP_OK;
    }
    mean = mean_erases(store);
    if (log->free < FREE_BLOCKS) {
        uint32_t spare = reserve_blocks(store) - FP_SWAP_LOG_RESERVE;

        goal += spare < BATCH ? spare : BATCH;
    }
    while (log->free < goal) {
        block = choose_victim(store, tries > FREE_BLOCKS, mean);
        if (block == NOWHERE || tries++ > 2u * store->config->medium->block_count) {
            if (log->free < FREE_BLOCKS) {
                return FP_SWAP_FULL;
            }
            break;
        }
        error = collect_block(store, block);
        if (error) {
            return error;
        }
    }
    block = choose_urgent_victim(store, mean);
    return block == NOWHERE ? FP_SWAP_OK : collect_block(store, block);
}
