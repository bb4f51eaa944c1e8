/* Makes an empty store. A format is a commit: it opens one meta block that links to nothing, of a
 * generation above all others on the medium. Until that block counts, the old store is there, and
 * from then on the empty one. Nothing that the old store may need is taken before. README.md, "Format",
 * has the reasons. */
#include "log_internal.h"

#include <string.h>

/* Counts the blocks of each state again. Nothing is live. */
static void count_states(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    log->free = 0;
    log->freed = 0;
    log->meta_blocks = 0;
    log->unsaved = 0;
    log->urgent = 0;
    log->live = 0;
    store->stat.bad_blocks = 0;
    for (block = 0; block < block_count(store); block++) {
        struct fp_swap_block *b = &log->blocks[block];
        uint32_t state = state_of(b);

        b->state_age = (uint8_t)state;
        b->live = 0;
        log->free = (uint16_t)(log->free + (state == BLOCK_FREE));
        log->freed = (uint16_t)(log->freed + (state == BLOCK_FREED));
        log->meta_blocks = (uint16_t)(log->meta_blocks + (state == BLOCK_META));
        log->unsaved += (b->flags & FLAG_UNSAVED) != 0;
        store->stat.bad_blocks += state == BLOCK_BAD;
    }
    fp_log_find_zone(store);
}

/* Frees all blocks but the current meta block, if there is one. */
static void free_all(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    for (block = 0; block < block_count(store); block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (state_of(b) != BLOCK_BAD && block != log->meta) {
            b->state_age = BLOCK_FREE;
            b->flags &= FLAG_RETIRED | FLAG_UNSAVED | FLAGS_OTHER;
            b->next = NO_BLOCK;
        }
    }
    count_states(store);
}

/* Empties all slots, finds all bad blocks, and keeps what a store of another shape needs, as far as
 * that is known: all but the blocks that it reserved. */
static void clear_items(struct fp_swap *store, const struct survey *survey, bool known)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    bool keeps = false;
    uint32_t i;

    for (i = 0; i < store->config->slot_count; i++) {
        store->location[i] = NOWHERE;
        store->size[i] = FP_SWAP_SIZE_NONE;
    }
    memset(&store->stat, 0, sizeof(store->stat));
    log->entries = 0;
    for (i = 0; i < block_count(store); i++) {
        struct fp_swap_block *b = &log->blocks[i];

        b->flags &= FLAG_RETIRED | FLAGS_OTHER;
        if (medium->is_bad(medium->context, i)) {
            b->state_age = BLOCK_BAD;
        } else if (!known) {
            b->state_age = BLOCK_FREE;
        }
    }
    if (!known) {
        memset(log->reserved, 0xff, sizeof(log->reserved));
    }
    if (survey->other) {
        memcpy(log->reserved, survey->reserved, sizeof(log->reserved));
        for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
            keeps = keeps || (log->reserved[i] != NO_BLOCK &&
                              state_of(&log->blocks[log->reserved[i]]) == BLOCK_FREE);
        }
    }
    for (i = 0; i < block_count(store) && keeps; i++) {
        if (state_of(&log->blocks[i]) == BLOCK_FREE && !is_reserved(store, i)) {
            log->blocks[i].state_age = BLOCK_FREED;
        }
    }
    log->wide = false;
    count_states(store);
}

/* Opens the block with which the empty store begins. It is outside the zone if the old store reserved
 * none inside: then the next one is opened after it, for which anything is free. */
static int open_first(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;
    int error;

    if (log->zone_free == 0) {
        log->wide = true;
        fp_log_find_zone(store);
    }
    if (log->zone_free == 0) {
        log->wide = false;
        free_all(store);
    }
    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        if (log->reserved[i] != NO_BLOCK && !is_in_zone(store, log->reserved[i])) {
            log->reserved[i] = NO_BLOCK;
        }
    }
    log->meta = NO_BLOCK;
    log->meta_pairs = 0;
    log->emitted = 0;
    /* What is known of blocks comes first, as an empty slot need not be known. */
    log->next_item = store->config->slot_count;
    log->mounting = true;
    error = fp_log_write_pair(store, PLACE_WHOLE);
    log->mounting = false;
    return error;
}

/* Erases what an older mount of another shape or version could take for its store, and what could
 * become one if the first block of this one should ever be unreadable. */
static int erase_traces(struct fp_swap *store, bool known)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint8_t prefix[META_PREFIX];
    struct fp_swap_shape shape;
    struct meta_header header;
    uint32_t block;
    int error = FP_SWAP_OK;

    for (block = 0; block < block_count(store) && !error; block++) {
        if (state_of(&log->blocks[block]) != BLOCK_FREE ||
            (is_in_zone(store, block)
                 ? fp_log_read_page(store, block, 0, &header) == PAGE_BLANK &&
                       fp_log_read_page(store, block, 1, &header) == PAGE_BLANK
                 : known || fp_log_read_medium(store, block, 0, prefix, META_PREFIX) ||
                       !fp_log_parse_prefix(prefix, &shape))) {
            continue;
        }
        error = fp_log_erase(store, block);
        error = error == PROGRAM_FAILED ? FP_SWAP_OK : error;
    }
    return error;
}

int fp_log_begin_anew(struct fp_swap *store, struct survey *survey, bool known)
{
    struct fp_swap_log_state *log = &store->of.log;
    bool outside;
    int error;

    clear_items(store, survey, known);
    do {
        error = open_first(store);
        if (error == FP_SWAP_FULL && log->freed > 0) {
            /* All blocks that it might take have failed. */
            log->wide = false;
            log->meta = NO_BLOCK;
            free_all(store);
            error = open_first(store);
        }
        if (error) {
            return error;
        }
        outside = log->wide;
        log->wide = false;
        if (outside) {
            log->meta = NO_BLOCK;
        }
        free_all(store);
    } while (outside);
    error = erase_traces(store, known);
    do {
        error = error ? error : fp_log_write_pair(store, PLACE_NEXT);
    } while (!error && log->emitted < item_count(store));
    return error;
}

int fp_log_format(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct survey survey;
    uint32_t good = 0;
    uint32_t block;
    int error;

    for (block = 0; block < block_count(store); block++) {
        good += !medium->is_bad(medium->context, block);
    }
    if (good < fp_swap_log_blocks(store->config)) {
        return FP_SWAP_SMALL;
    }
    error = fp_log_find_store(store, &survey);
    memset(&store->other, 0, sizeof(store->other));
    return fp_log_begin_anew(store, &survey, !error);
}
