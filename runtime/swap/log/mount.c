/* Finds what the medium holds. README.md, "The log on the medium", explains what a reader may
 * conclude from what it reads, and why. */
#include "log_internal.h"

#include <string.h>

/* Keys of entries that another mount may not find. They are kept in the pages of the heads, which
 * are empty. */
struct doubt {
    uint8_t *keys;
    uint32_t count;
    uint32_t capacity;
};

static void doubt(struct doubt *doubt, uint32_t key)
{
    if (doubt->count < doubt->capacity) {
        fp_swap_put32(doubt->keys + 4u * doubt->count++, key);
    }
}

/* Keeps what was known of an item before the doubtful entry: its record must stay where it is. */
static void keep_older(struct fp_swap *store, struct doubt *doubt, const struct entry *entry)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t i = 0;

    while (i < doubt->count && fp_swap_get32(doubt->keys + 4u * i) != entry->key) {
        i++;
    }
    if (i == doubt->count) {
        return;
    }
    doubt->count--;
    fp_swap_put32(doubt->keys + 4u * i, fp_swap_get32(doubt->keys + 4u * doubt->count));
    if (has_record(entry->extra) && block_of(store, entry->value) < block_count(store)) {
        blocks[block_of(store, entry->value)].flags |= FLAG_KEPT;
    }
}

/* Sets an item to its newest entry. */
static uint32_t take_item(struct fp_swap *store, struct doubt *doubt, const struct entry *entry)
{
    uint32_t slots = store->config->slot_count;
    const struct fp_swap_block *blocks = store->of.log.blocks;

    if (entry->key < slots) {
        keep_older(store, doubt, entry);
    }
    if (entry->key < slots ? store->size[entry->key] != SIZE_UNKNOWN
                           : entry->key >= item_count(store) ||
                                 !(blocks[entry->key - slots].flags & FLAG_UNKNOWN)) {
        return 0;
    }
    fp_log_set_item(store, entry);
    return 1;
}

/* Settles the items that are still unknown. They are lost where the stream was cut off; before a
 * format there were none. */
static void settle_unknown(struct fp_swap *store, bool lost)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    for (i = 0; i < store->config->slot_count; i++) {
        if (store->size[i] == SIZE_UNKNOWN) {
            store->location[i] = NOWHERE;
            store->size[i] = lost ? FP_SWAP_SIZE_LOST : FP_SWAP_SIZE_NONE;
        }
    }
    for (i = 0; i < block_count(store); i++) {
        log->blocks[i].flags &= (uint8_t)~FLAG_UNKNOWN;
    }
    /* A record may continue in the next block. */
    for (i = 0; i < block_count(store); i++) {
        if ((log->blocks[i].flags & FLAG_KEPT) && log->blocks[i].next < block_count(store)) {
            log->blocks[log->blocks[i].next].flags |= FLAG_UNKNOWN;
        }
    }
    for (i = 0; i < block_count(store); i++) {
        if (log->blocks[i].flags & FLAG_UNKNOWN) {
            log->blocks[i].flags = (uint8_t)((log->blocks[i].flags & ~FLAG_UNKNOWN) | FLAG_KEPT);
        }
    }
}

/* Returns true if a block that counts now counts for ever: its confirmation was complete, as the
 * second copy of it, or something after it, was begun. */
static bool is_solid(struct fp_swap *store, uint32_t block, uint32_t generation)
{
    struct meta_header header;
    uint32_t index;
    uint32_t pair;

    if (fp_log_read_pair(store, block, 0, &header) != PAGE_META) {
        return false;
    }
    pair = header.confirmed;
    for (index = 2u * pair + 1u; index <= 2u * pair + 3u && index < pages_per_block(store);
         index++) {
        if (fp_log_read_page(store, block, index, &header) == PAGE_META &&
            header.generation == generation) {
            return true;
        }
    }
    return false;
}

/* What a search does next, beside returning an error. */
#define SEARCH_AGAIN 2 /* read all again: an error came and went */
#define SEARCH_NEXT 3  /* find the newest of the blocks that are not done */

/* Leaves out the last pair, which has just been valid and is not any more: a cut tore it. */
static int leave_out_pair(struct fp_swap *store, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;

    survey->torn = log->meta;
    survey->whole = (uint16_t)(survey->pairs - 1u);
    log->blocks[log->meta].flags &= (uint8_t)~FLAG_DONE;
    return SEARCH_NEXT;
}

/* Reads the stream back from the last pair until all items are known, and as far as another mount
 * would have to if this block does not count any more by then. */
static int read_stream(struct fp_swap *store, uint16_t block, struct survey *survey,
                       bool *for_ever, bool *broken)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t unknown = item_count(store);
    uint32_t covered = 0; /* items in chunks after this block */
    uint32_t behind = 0;  /* those of them in blocks that count for ever */
    uint32_t blocks = 0;
    uint16_t pairs = survey->pairs;
    uint16_t last = block;
    uint16_t last_pairs = pairs;
    bool settled = false; /* a block of the stream counts for ever */
    struct doubt doubtful = {log->heads[0].page, 0, head_count(store) * program_bytes(store) / 4u};
    bool lost = false;

    /* The last pair is written again, with its present content. */
    log->meta = block;
    log->meta_pairs = (uint16_t)(pairs - 1u);
    log->emitted = 2u * item_count(store);
    while (block != NO_BLOCK && blocks++ < log->zone_end) {
        struct fp_swap_block *b = &log->blocks[block];
        struct meta_header header;
        uint32_t pair = pairs;
        bool solid = behind > 0 || is_solid(store, block, b->stamp);

        *for_ever = block == last ? solid : *for_ever;
        settled = settled || solid;
        b->state_age = BLOCK_META;
        b->live = log->emitted - covered;
        header.link_block = NO_BLOCK;
        header.link_pairs = 0;
        header.link_generation = 0;
        while (pair-- > 0) {
            enum page_kind kind = fp_log_read_pair(store, block, pair, &header);
            uint32_t i;

            if (kind == PAGE_UNREADABLE) {
                if (!fp_log_is_alive(store)) {
                    return FP_SWAP_IO;
                }
                kind = fp_log_read_pair(store, block, pair, &header);
            }
            if (kind != PAGE_META || header.generation != b->stamp) {
                /* Its content is unknown, and so is whether anything older still holds. The last
                 * pair was valid a moment ago: it is torn, unless errors came and went. */
                if (block == last && pair + 1u == last_pairs) {
                    return kind == PAGE_UNREADABLE ? SEARCH_AGAIN : leave_out_pair(store, survey);
                }
                lost = true;
                break;
            }
            if (block == last && pair + 1u == last_pairs) {
                log->entries = header.entries;
                memcpy(log->journal, fp_log_page_entries(log->page),
                       ENTRY_BYTES * (size_t)header.entries);
                log->next_item = header.first % item_count(store);
                memcpy(log->reserved, header.reserved, sizeof(log->reserved));
            } else {
                covered += header.items;
                behind += solid ? header.items : 0;
            }
            for (i = 0; i < header.items; i++) {
                struct entry item = fp_log_parse_item(
                    fp_log_page_items(log->page, &header) + ITEM_BYTES * i, header.first + i);

                unknown -= take_item(store, &doubtful, &item);
            }
            for (i = header.entries; i-- > 0;) {
                struct entry entry =
                    fp_log_parse_entry(fp_log_page_entries(log->page) + ENTRY_BYTES * i);

                unknown -= take_item(store, &doubtful, &entry);
            }
            for (i = 0; i < header.entries && (!solid || (block == last && pair + 1u == last_pairs));
                 i++) {
                doubt(&doubtful, fp_log_parse_entry(fp_log_page_entries(log->page) +
                                                    ENTRY_BYTES * i)
                                     .key);
            }
        }
        if ((unknown == 0 && behind >= item_count(store)) || lost) {
            break;
        }
        block = header.link_block;
        pairs = header.link_pairs;
        if (block != NO_BLOCK && ((log->blocks[block].flags & FLAGS_OTHER) != FLAG_SHOWS ||
                                  log->blocks[block].stamp != header.link_generation)) {
            if (block >= log->zone_end || state_of(&log->blocks[block]) == BLOCK_BAD ||
                fp_log_read_pair(store, block, 0, &header) == PAGE_META) {
                lost = true;
                break;
            }
            log->blocks[block].stamp = header.link_generation;
        }
    }
    *broken = lost && unknown > 0;
    survey->unsettled = block == NO_BLOCK && !settled;
    settle_unknown(store, lost);
    return FP_SWAP_OK;
}

/* Finds the states of the blocks from the items. */
void fp_log_find_states(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    log->free = 0;
    log->freed = 0;
    log->meta_blocks = 0;
    log->urgent = 0;
    log->unsaved = 0;
    log->live = 0;
    store->stat.bad_blocks = 0;
    for (i = 0; i < block_count(store); i++) {
        struct fp_swap_block *b = &log->blocks[i];

        log->meta_blocks = (uint16_t)(log->meta_blocks + (state_of(b) == BLOCK_META));
        store->stat.bad_blocks += state_of(b) == BLOCK_BAD;
        b->flags &= FLAG_RETIRED | FLAG_SHOWS | FLAG_DONE | FLAG_KEPT | FLAG_UNREADABLE;
        if (state_of(b) != BLOCK_META) {
            b->live = 0;
            b->stamp = b->flags & FLAG_SHOWS ? b->stamp : 0;
        }
    }
    for (i = 0; i < store->config->slot_count; i++) {
        uint32_t location = store->location[i];
        uint16_t size = store->size[i];
        uint32_t block = has_record(size) ? block_of(store, location) : 0;
        uint32_t next = block;

        store->size[i] = FP_SWAP_SIZE_NONE;
        if (has_record(size)) {
            if (size <= store->config->page_bytes && block < block_count(store) &&
                bytes_in_first(store, location, size) < record_bytes(size)) {
                next = log->blocks[block].next;
            }
            if (size > store->config->page_bytes || block >= block_count(store) ||
                next >= block_count(store) || state_of(&log->blocks[block]) == BLOCK_META ||
                state_of(&log->blocks[next]) == BLOCK_META) {
                location = NOWHERE;
                size = FP_SWAP_SIZE_LOST;
            }
        }
        fp_log_set_record(store, i, location, size);
    }
    for (i = 0; i < block_count(store); i++) {
        struct fp_swap_block *b = &log->blocks[i];

        if (state_of(b) == BLOCK_FREE && b->live > 0) {
            b->state_age = BLOCK_CLOSED;
            b->stamp = 0;
            b->flags &= FLAG_RETIRED | FLAG_DONE;
            if (b->flags & FLAG_RETIRED) {
                fp_log_mark_urgent(store, i, 0);
            }
        }
        /* A kept block is free once the mount's decision is written. */
        if (state_of(b) == BLOCK_FREE && (b->flags & FLAG_KEPT)) {
            b->state_age = BLOCK_FREED;
            b->stamp = 0;
            log->freed++;
        }
        b->flags &= (uint8_t)~FLAG_KEPT;
        log->free = (uint16_t)(log->free + (state_of(b) == BLOCK_FREE));
    }
    fp_log_find_zone(store);
}

/* Erases each free block of the zone in which an interrupted attempt may have left something that
 * reads as a meta page another time. */
static int erase_suspects(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;
    int error = FP_SWAP_OK;

    for (block = 0; block < log->zone_end && !error; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct meta_header header;
        enum page_kind first;

        if (state_of(b) != BLOCK_FREE) {
            continue;
        }
        b->flags &= (uint8_t)~FLAG_SHOWS;
        /* The zone may have grown since it was read. */
        if (store->config->medium->is_bad(store->config->medium->context, block)) {
            error = fp_log_make_bad(store, block);
            continue;
        }
        first = fp_log_read_page(store, block, 0, &header);
        if (first == PAGE_META && (int32_t)(header.generation - log->generation) < 0) {
            continue;
        }
        if (first == PAGE_BLANK && fp_log_read_page(store, block, 1, &header) == PAGE_BLANK) {
            continue;
        }
        error = fp_log_erase(store, block);
        error = error == PROGRAM_FAILED ? FP_SWAP_OK : error;
    }
    return error;
}

/* Clears the log's memory, before anything is read. */
static void clear(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    for (i = 0; i < FP_SWAP_LOG_HEADS; i++) {
        log->heads[i].block = NO_BLOCK;
        log->heads[i].before = NO_BLOCK;
    }
    log->meta = NO_BLOCK;
    log->link_block = NO_BLOCK;
    memset(log->reserved, 0xff, sizeof(log->reserved));
    log->victim = NO_BLOCK;
    log->life = NOWHERE;
    /* What a mount finds is as old as a turnover. */
    log->clock = store->config->slot_count;
}

/* Makes all items unknown. */
static void forget(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    for (i = 0; i < store->config->slot_count; i++) {
        store->size[i] = SIZE_UNKNOWN;
    }
    for (i = 0; i < block_count(store); i++) {
        struct fp_swap_block *b = &log->blocks[i];

        b->flags = (uint8_t)((b->flags & ~FLAG_KEPT) | FLAG_UNKNOWN);
        b->state_age = i < log->zone_end && state_of(b) == BLOCK_BAD ? BLOCK_BAD : BLOCK_FREE;
    }
    memset(&store->stat, 0, sizeof(store->stat));
}

/* Returns true if the unreadable pages can be read now. Then nothing may be concluded from the
 * failure. */
static bool is_readable_now(struct fp_swap *store, const struct survey *survey)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct meta_header header;
    uint32_t block;

    for (block = 0; block < log->zone_end; block++) {
        if ((log->blocks[block].flags & FLAGS_OTHER) == FLAG_UNREADABLE &&
            fp_log_read_pair(store, block, 0, &header) != PAGE_UNREADABLE) {
            return true;
        }
    }
    return survey->page != NOWHERE &&
           fp_log_read_pair(store, survey->page / pairs_per_block(store),
                            survey->page % pairs_per_block(store), &header) != PAGE_UNREADABLE;
}

/* Searches of a medium before a transient error counts as permanent. A page that a cut left
 * unstable may come and go as often. */
#define FIND_TRIES 64u

/* Searches the whole medium: a store of another shape may have another zone, and blocks that decide
 * about this one. */
static int widen(struct fp_swap *store, struct survey *survey)
{
    survey->wide = true;
    store->of.log.wide = true;
    return SEARCH_AGAIN;
}

/* Ends a search that met no block of the store. */
static int end_search(struct fp_swap *store, struct survey *survey)
{
    if (!survey->wide) {
        return widen(store, survey);
    }
    if (!survey->other && (survey->unreadable || survey->page != NOWHERE)) {
        return FP_SWAP_IO;
    }
    if (survey->left_out && !survey->forced) {
        survey->forced = true;
        return SEARCH_AGAIN;
    }
    return survey->other || survey->version ? FP_SWAP_OTHER : FP_SWAP_NO_STORE;
}

/* Keeps all blocks but those that an unsettled format may take: what was there before it may still
 * be the store. */
static void keep_all(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    for (block = 0; block < block_count(store); block++) {
        if (!is_reserved(store, block)) {
            log->blocks[block].flags |= FLAG_KEPT;
        }
    }
}

/* Reads the store of the block that was found, and decides whether to take it. */
static int try_block(struct fp_swap *store, struct survey *survey, uint16_t block)
{
    struct fp_swap_log_state *log = &store->of.log;
    bool for_ever = false;
    bool broken = false;
    int error = read_stream(store, block, survey, &for_ever, &broken);
    uint32_t i;

    if (error) {
        return error;
    }
    /* The medium can be read now. */
    if (is_readable_now(store, survey)) {
        return SEARCH_AGAIN;
    }
    if (survey->unsettled && !survey->wide) {
        return widen(store, survey);
    }
    log->wide = false;
    if (survey->unsettled && !survey->forced) {
        keep_all(store);
    }
    fp_log_find_states(store);
    survey->outside = block >= log->zone_end;
    /* Nothing relies yet on a block that may count or not. It is left out if another mount, which
     * did so, has erased what it is based on; and if no block is free, as each such block keeps
     * what is before it. */
    if (!for_ever && !survey->outside && (log->zone_free == 0 || broken)) {
        survey->left_out = survey->left_out || survey->unsettled;
        log->wide = survey->wide;
        fp_log_find_zone(store);
        return SEARCH_NEXT;
    }
    for (i = 0; i < log->zone_end && log->zone_free == 0; i++) {
        /* A block that this mount does not need is better than none. */
        if (state_of(&log->blocks[i]) == BLOCK_FREED) {
            fp_log_set_state(store, i, BLOCK_FREE);
        }
    }
    return FP_SWAP_OK;
}

int fp_log_find_store(struct fp_swap *store, struct survey *survey)
{
    uint32_t tries = FIND_TRIES;
    int error = SEARCH_AGAIN;

    clear(store);
    memset(survey, 0, sizeof(*survey));
    survey->torn = NO_BLOCK;
    do {
        uint16_t newest;

        if (error == SEARCH_AGAIN) {
            fp_log_survey_zone(store, survey);
        }
        forget(store);
        newest = fp_log_find_newest(store, survey);
        error = is_readable_now(store, survey)        ? SEARCH_AGAIN
                : newest == NO_BLOCK || survey->other ? end_search(store, survey)
                                                      : try_block(store, survey, newest);
        if (error == SEARCH_AGAIN && --tries == 0) {
            error = FP_SWAP_IO;
        }
    } while (error == SEARCH_AGAIN || error == SEARCH_NEXT);
    if (error != FP_SWAP_OTHER) {
        memset(&store->other, 0, sizeof(store->other));
    }
    return error;
}

/* Finds the store and writes the decision which states of it count. */
static int decide(struct fp_swap *store, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error;

    do {
        error = fp_log_find_store(store, survey);
        if (!error && !survey->outside) {
            log->mounting = true;
            error = fp_log_write_pair(store, PLACE_OPEN);
            log->mounting = false;
        }
        /* All blocks that an unsettled format may take failed: it is searched for again without
         * them. */
    } while (error == FP_SWAP_FULL && survey->unsettled && !survey->forced);
    return error;
}

int fp_log_mount(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct survey survey;
    int error = decide(store, &survey);

    if (error) {
        return error;
    }
    if (survey.outside) {
        return fp_log_begin_anew(store, &survey, true);
    }
    error = erase_suspects(store);
    /* From here on this is the only mount that happened: free blocks are free, and some are
     * reserved before heads may take them. */
    if (!error && log->reserved[1] == NO_BLOCK) {
        error = fp_log_write_pair(store, PLACE_NEXT);
    }
    return error ? error : fp_log_restock_zone(store);
}
