/* The state of erase blocks: free, bad, in the zone; their live bytes; and how one is taken. */
#include "log_internal.h"

#include <string.h>

/* Blocks of the zone that stay free when the meta stream has its most. Blocks may go bad while
 * there is no time to collect. */
#define ZONE_SPARE 2u

void fp_log_set_state(struct fp_swap *store, uint32_t block, uint32_t state)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block];
    uint32_t old = state_of(b);

    if (old == BLOCK_FREE) {
        log->free--;
        log->zone_free = (uint16_t)(log->zone_free - is_in_zone(store, block));
    }
    if (old == BLOCK_FREED) {
        log->freed--;
        log->zone_freed = (uint16_t)(log->zone_freed - is_in_zone(store, block));
    }
    log->meta_blocks = (uint16_t)(log->meta_blocks - (old == BLOCK_META));
    b->state_age = (uint8_t)((b->state_age & 0xf0u) | state);
    if (state == BLOCK_FREE) {
        log->free++;
        log->zone_free = (uint16_t)(log->zone_free + is_in_zone(store, block));
    }
    if (state == BLOCK_FREED) {
        log->freed++;
        log->zone_freed = (uint16_t)(log->zone_freed + is_in_zone(store, block));
    }
    log->meta_blocks = (uint16_t)(log->meta_blocks + (state == BLOCK_META));
    if ((state == BLOCK_FREE || state == BLOCK_FREED || state == BLOCK_BAD) &&
        (b->flags & FLAG_URGENT)) {
        b->flags &= (uint8_t)~FLAG_URGENT;
        log->urgent--;
    }
}

void fp_log_mark_unsaved(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_block *b = &store->of.log.blocks[block];

    if (!(b->flags & FLAG_UNSAVED)) {
        b->flags |= FLAG_UNSAVED;
        store->of.log.unsaved++;
    }
}

/* Adds a record's bytes to the live bytes of its blocks, or subtracts them. */
static void count_live(struct fp_swap *store, uint32_t location, uint16_t size, bool add)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block_of(store, location)];
    uint32_t bytes = record_bytes(size);
    uint32_t first = bytes_in_first(store, location, size);

    b->live += add ? first : 0u - first;
    if (first < bytes) {
        log->blocks[b->next].live += add ? bytes - first : first - bytes;
    }
    log->live += add ? bytes : 0u - (uint64_t)bytes;
}

void fp_log_set_record(struct fp_swap *store, uint32_t slot, uint32_t location, uint16_t size)
{
    if (has_record(store->size[slot])) {
        count_live(store, store->location[slot], store->size[slot], false);
    }
    if (has_record(size)) {
        count_live(store, location, size, true);
    }
    fp_swap_settle(store, slot, location, size);
}

void fp_log_mark_urgent(struct fp_swap *store, uint32_t block, uint8_t flags)
{
    struct fp_swap_block *b = &store->of.log.blocks[block];
    uint32_t state = state_of(b);

    if (!(b->flags & FLAG_URGENT) && (state == BLOCK_OPEN || state == BLOCK_CLOSED)) {
        store->of.log.urgent++;
        b->flags |= FLAG_URGENT;
    }
    b->flags |= flags;
    if (flags) {
        fp_log_mark_unsaved(store, block);
    }
}

void fp_log_find_zone(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint64_t pages = (uint64_t)block_count(store) * pages_per_block(store);
    uint32_t least = 2u * fp_log_meta_limit(store) + 8u;
    uint32_t wanted = pages / 512u < least ? least : (uint32_t)(pages / 512u);
    uint32_t block;

    if (log->wide) {
        wanted = NOWHERE;
    }
    log->zone_free = 0;
    log->zone_freed = 0;
    for (block = 0; block < block_count(store) && wanted > 0; block++) {
        wanted -= state_of(&log->blocks[block]) != BLOCK_BAD;
        log->zone_free =
            (uint16_t)(log->zone_free + (state_of(&log->blocks[block]) == BLOCK_FREE));
        log->zone_freed =
            (uint16_t)(log->zone_freed + (state_of(&log->blocks[block]) == BLOCK_FREED));
    }
    log->zone_end = (uint16_t)block;
}

int fp_log_make_bad(struct fp_swap *store, uint32_t block)
{
    const struct fp_medium *medium = store->config->medium;
    bool zone = is_in_zone(store, block);

    fp_log_set_state(store, block, BLOCK_BAD);
    store->of.log.blocks[block].flags &= FLAG_UNSAVED;
    fp_log_mark_unsaved(store, block);
    store->stat.bad_blocks++;
    if (zone) {
        fp_log_find_zone(store);
    }
    if (!medium->is_bad(medium->context, block) && medium->mark_bad(medium->context, block) < 0) {
        store->of.log.failed = true;
        return FP_SWAP_IO;
    }
    return FP_SWAP_OK;
}

int fp_log_erase(struct fp_swap *store, uint32_t block)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_block *b = &store->of.log.blocks[block];
    int error;

    /* A block may be marked without the last commit before a cut knowing it. */
    if (!(b->flags & FLAG_RETIRED) && !medium->is_bad(medium->context, block)) {
        b->erases++;
        store->stat.erases++;
        fp_log_mark_unsaved(store, block);
        if (medium->erase(medium->context, block) >= 0) {
            return FP_SWAP_OK;
        }
    }
    error = fp_log_make_bad(store, block);
    return error ? error : PROGRAM_FAILED;
}

uint32_t fp_log_mean_erases(const struct fp_swap *store)
{
    uint64_t sum = 0;
    uint32_t block;

    for (block = 0; block < block_count(store); block++) {
        sum += store->of.log.blocks[block].erases;
    }
    return (uint32_t)FP_DIV64(sum, block_count(store));
}

uint32_t fp_log_zone_kept(const struct fp_swap *store)
{
    uint32_t most = fp_log_meta_limit(store) + (store->stat.bad_blocks > 0 ? ZONE_SPARE : 0);
    uint32_t used = store->of.log.meta_blocks;
    uint32_t left = most > used ? most - used : 0;
    uint32_t whole = fp_log_whole_blocks(store);

    /* For the stream to begin and to end a cycle that frees all older blocks. */
    whole = whole < left + 2u ? whole : left + 2u;
    return left > whole ? left : whole;
}

/* Chooses the least worn free block; for unchanging records, the most worn one. */
static uint32_t choose_for_head(const struct fp_swap *store, uint32_t age, uint32_t kept)
{
    const struct fp_swap_log_state *log = &store->of.log;
    bool most = log->levelling && age + 1u == head_count(store);
    uint32_t best = NOWHERE;
    uint32_t block;

    for (block = 0; block < block_count(store); block++) {
        const struct fp_swap_block *b = &log->blocks[block];

        if (state_of(b) != BLOCK_FREE || is_reserved(store, block) ||
            (is_in_zone(store, block) && log->zone_free <= kept)) {
            continue;
        }
        if (best == NOWHERE ||
            (is_in_zone(store, best) == is_in_zone(store, block)
                 /* The meta stream wears its blocks more, so it takes the least worn one. */
                 ? (most || is_in_zone(store, block)
                        ? b->erases > log->blocks[best].erases
                        : b->erases < log->blocks[best].erases)
                 : is_in_zone(store, best))) {
            best = block;
        }
    }
    return best;
}

int fp_log_take_block(struct fp_swap *store, uint32_t age, uint16_t *block)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error;

    do {
        uint32_t best = choose_for_head(store, age, fp_log_zone_kept(store));

        if (best == NOWHERE) {
            best = choose_for_head(store, age, fp_log_whole_blocks(store));
        }
        if (best == NOWHERE && log->swapping) {
            best = choose_for_head(store, age, 0);
            if (best == NOWHERE) {
                memset(log->reserved, 0xff, sizeof(log->reserved));
                best = choose_for_head(store, age, 0);
            }
        }
        if (best == NOWHERE && log->rescuing && log->zone_free > 1u) {
            /* A record that would be lost otherwise is worth more than the reserve. */
            log->reserved[1] = NO_BLOCK;
            log->reserved[2] = NO_BLOCK;
            best = choose_for_head(store, age, 1);
        }
        if (best == NOWHERE) {
            return FP_SWAP_FULL;
        }
        *block = (uint16_t)best;
        error = fp_log_erase(store, best);
    } while (error == PROGRAM_FAILED);
    log->levelling = log->levelling && age + 1u < head_count(store);
    return error;
}

int fp_log_take_meta_block(struct fp_swap *store, uint16_t *block)
{
    const struct fp_swap_log_state *log = &store->of.log;
    int error;

    do {
        uint32_t best = NOWHERE;
        uint32_t i;

        for (i = 0; i < log->zone_end; i++) {
            const struct fp_swap_block *b = &log->blocks[i];
            const struct fp_swap_block *other = best == NOWHERE ? NULL : &log->blocks[best];

            if (state_of(b) != BLOCK_FREE) {
                continue;
            }
            /* A block that shows was left by an interrupted mount. If its erasure is interrupted,
             * too, its generation is not seen any more. */
            if (!other || is_reserved(store, i) > is_reserved(store, best) ||
                (is_reserved(store, i) == is_reserved(store, best) &&
                 ((!(b->flags & FLAG_SHOWS) && (other->flags & FLAG_SHOWS)) ||
                  (!(b->flags & FLAG_SHOWS) == !(other->flags & FLAG_SHOWS) &&
                   (b->flags & FLAG_SHOWS ? (int32_t)(b->stamp - other->stamp) < 0
                                          : b->erases < other->erases))))) {
                best = i;
            }
        }
        if (best == NOWHERE) {
            return FP_SWAP_FULL;
        }
        *block = (uint16_t)best;
        error = fp_log_erase(store, best);
    } while (error == PROGRAM_FAILED);
    return error;
}
