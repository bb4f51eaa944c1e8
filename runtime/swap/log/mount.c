/* Finds what the medium holds, and makes an empty store. README.md, "The log on the medium",
 * explains what a reader may conclude from what it reads, and why. */
#include "log_internal.h"

#include <string.h>

/* Reads a meta page into log->page. */
static enum page_kind read_page(struct fp_swap *store, uint32_t block, uint32_t index,
                                struct meta_header *header)
{
    uint8_t *page = store->of.log.page;

    if (fp_log_read_medium(store, block, index * program_bytes(store), page,
                           program_bytes(store))) {
        return PAGE_UNREADABLE;
    }
    return fp_log_parse_page(store, page, block, index, header);
}

/* Whether a page in memory begins like the first page of a data block. */
static bool is_data(const struct fp_swap *store, const uint8_t *page)
{
    uint32_t slot = fp_swap_get32(page);
    uint32_t where = fp_swap_get32(page + 4);
    uint32_t bytes = fp_swap_get32(page + 8);

    return slot == NOWHERE ? where == 0 && bytes == 0
                           : slot < store->config->slot_count && bytes > 0 &&
                                 bytes <= record_bytes((uint16_t)store->config->page_bytes);
}

/* Reads a pair: one of its copies, or the kind of the first. */
static enum page_kind read_pair(struct fp_swap *store, uint32_t block, uint32_t pair,
                                struct meta_header *header)
{
    enum page_kind kind = read_page(store, block, 2u * pair, header);

    /* The second copy is programmed after the first. */
    if (kind == PAGE_BROKEN || kind == PAGE_UNREADABLE ||
        (kind == PAGE_NOT_META && (pair > 0 || !is_data(store, store->of.log.page)))) {
        struct meta_header other;
        enum page_kind second = read_page(store, block, 2u * pair + 1u, &other);

        if (second == PAGE_META) {
            *header = other;
            return second;
        }
        if (kind == PAGE_UNREADABLE && second != PAGE_UNREADABLE) {
            return PAGE_BROKEN;
        }
    }
    return kind;
}

/* Summary of the first pages of the zone's blocks. */
struct survey {
    bool unreadable; /* both copies of some block's first page could not be read */
    bool other;      /* there is a store of another version or shape */
};

static void survey_zone(struct fp_swap *store, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;
    const struct fp_medium *medium = store->config->medium;
    bool shows = false;
    uint32_t block;

    survey->unreadable = false;
    survey->other = false;
    for (block = 0; block < block_count(store); block++) {
        struct fp_swap_block *b = &log->blocks[block];

        memset(b, 0, sizeof(*b));
        b->next = NO_BLOCK;
        b->flags = FLAG_UNKNOWN;
    }
    /* The zone grows by its bad blocks. */
    for (block = 0; fp_log_find_zone(store), block < log->zone_end; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct meta_header header;

        if (medium->is_bad(medium->context, block)) {
            b->state_age = BLOCK_BAD;
            continue;
        }
        switch (read_pair(store, block, 0, &header)) {
        case PAGE_META:
            b->flags |= FLAG_SHOWS;
            b->stamp = header.generation;
            if (!shows || (int32_t)(header.generation - log->generation) > 0) {
                log->generation = header.generation;
            }
            shows = true;
            break;
        case PAGE_OTHER:
            survey->other = true;
            break;
        case PAGE_UNREADABLE:
            survey->unreadable = true;
            b->flags |= FLAG_UNREADABLE;
            break;
        default:
            break;
        }
    }
}

/* Returns the block of the highest generation that counts, and how many of its pairs are valid; or
 * NO_BLOCK. */
static uint16_t find_newest(struct fp_swap *store, uint16_t *pairs, uint32_t *unreadable)
{
    struct fp_swap_log_state *log = &store->of.log;

    for (;;) {
        uint32_t best = NOWHERE;
        struct meta_header header;
        uint32_t block;
        uint32_t pair;
        uint32_t end;
        uint32_t confirmed = pairs_per_block(store);

        for (block = 0; block < log->zone_end; block++) {
            const struct fp_swap_block *b = &log->blocks[block];

            if ((b->flags & (FLAG_SHOWS | FLAG_DONE)) == FLAG_SHOWS &&
                (best == NOWHERE || (int32_t)(b->stamp - log->blocks[best].stamp) > 0)) {
                best = block;
            }
        }
        if (best == NOWHERE) {
            return NO_BLOCK;
        }
        log->blocks[best].flags |= FLAG_DONE;
        end = 0;
        for (pair = 1; pair < pairs_per_block(store); pair++) {
            enum page_kind kind = read_pair(store, best, pair, &header);

            if (kind == PAGE_META && header.generation == log->blocks[best].stamp) {
                end = pair + 1u;
                confirmed = header.confirmed;
            } else if (kind == PAGE_UNREADABLE && *unreadable == NOWHERE) {
                *unreadable = best * pairs_per_block(store) + pair;
            } else if (kind == PAGE_BLANK) {
                break;
            }
            /* There may be more after what cannot be read. */
        }
        if (end > confirmed) {
            log->confirmed = (uint16_t)confirmed;
            *pairs = (uint16_t)end;
            return (uint16_t)best;
        }
    }
}

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
            store->where[i] = NOWHERE;
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

/* Whether a block that counts now counts for ever: its confirmation was complete, as the second
 * copy of it, or something after it, was begun. */
static bool is_solid(struct fp_swap *store, uint32_t block, uint32_t generation)
{
    struct meta_header header;
    uint32_t index;
    uint32_t pair;

    if (read_pair(store, block, 0, &header) != PAGE_META) {
        return false;
    }
    pair = header.confirmed;
    for (index = 2u * pair + 1u; index <= 2u * pair + 3u && index < pages_per_block(store);
         index++) {
        if (read_page(store, block, index, &header) == PAGE_META &&
            header.generation == generation) {
            return true;
        }
    }
    return false;
}

/* Reads the stream back from the last pair until all items are known, and as far as another mount
 * would have to if this block does not count any more by then. */
static int read_stream(struct fp_swap *store, uint16_t block, uint16_t pairs, bool *for_ever,
                       bool *broken)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t unknown = item_count(store);
    uint32_t covered = 0; /* items in chunks after this block */
    uint32_t behind = 0;  /* those of them in blocks that count for ever */
    uint32_t blocks = 0;
    uint16_t last = block;
    uint16_t last_pairs = pairs;
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
        b->state_age = BLOCK_META;
        b->live = log->emitted - covered;
        header.link_block = NO_BLOCK;
        header.link_pairs = 0;
        header.link_generation = 0;
        while (pair-- > 0) {
            enum page_kind kind = read_pair(store, block, pair, &header);
            uint32_t i;

            if (kind == PAGE_UNREADABLE) {
                if (!fp_log_is_alive(store)) {
                    return FP_SWAP_IO;
                }
                kind = read_pair(store, block, pair, &header);
            }
            if (kind != PAGE_META || header.generation != b->stamp) {
                /* Its content is unknown, and so is whether anything older still holds. */
                if (block == last && pair + 1u == last_pairs) {
                    return FP_SWAP_IO;
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
        if (block != NO_BLOCK && (!(log->blocks[block].flags & FLAG_SHOWS) ||
                                  log->blocks[block].stamp != header.link_generation)) {
            if (block >= log->zone_end || state_of(&log->blocks[block]) == BLOCK_BAD ||
                read_pair(store, block, 0, &header) == PAGE_META) {
                lost = true;
                break;
            }
            log->blocks[block].stamp = header.link_generation;
        }
    }
    *broken = lost && unknown > 0;
    settle_unknown(store, lost);
    return FP_SWAP_OK;
}

/* Finds the states of the blocks from the items. */
static void find_states(struct fp_swap *store)
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
        uint32_t where = store->where[i];
        uint16_t size = store->size[i];
        uint32_t block = has_record(size) ? block_of(store, where) : 0;
        uint32_t next = block;

        store->size[i] = FP_SWAP_SIZE_NONE;
        if (has_record(size)) {
            if (size <= store->config->page_bytes && block < block_count(store) &&
                bytes_in_first(store, where, size) < record_bytes(size)) {
                next = log->blocks[block].next;
            }
            if (size > store->config->page_bytes || block >= block_count(store) ||
                next >= block_count(store) || state_of(&log->blocks[block]) == BLOCK_META ||
                state_of(&log->blocks[next]) == BLOCK_META) {
                where = NOWHERE;
                size = FP_SWAP_SIZE_LOST;
            }
        }
        fp_log_set_record(store, i, where, size);
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
        first = read_page(store, block, 0, &header);
        if (first == PAGE_META && (int32_t)(header.generation - log->generation) < 0) {
            continue;
        }
        if (first == PAGE_BLANK && read_page(store, block, 1, &header) == PAGE_BLANK) {
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

/* Whether the unreadable pages can be read now. Then nothing may be concluded from the failure. */
static bool is_readable_now(struct fp_swap *store, uint32_t unreadable)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct meta_header header;
    uint32_t block;

    for (block = 0; block < log->zone_end; block++) {
        if ((log->blocks[block].flags & FLAG_UNREADABLE) &&
            read_pair(store, block, 0, &header) != PAGE_UNREADABLE) {
            return true;
        }
    }
    return unreadable != NOWHERE &&
           read_pair(store, unreadable / pairs_per_block(store),
                     unreadable % pairs_per_block(store), &header) != PAGE_UNREADABLE;
}

/* Searches of a medium before a transient error counts as permanent. */
#define FIND_TRIES 4u

/* Finds what the medium holds. */
static int find_store(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct survey survey;
    uint32_t tries = FIND_TRIES;
    uint32_t unreadable = NOWHERE;
    uint16_t newest;
    uint16_t pairs = 0;
    bool for_ever = false;
    bool broken = false;
    int error;

    clear(store);
    survey_zone(store, &survey);
    for (;;) {
        forget(store);
        newest = find_newest(store, &pairs, &unreadable);
        if (is_readable_now(store, unreadable)) {
            if (--tries == 0) {
                return FP_SWAP_IO;
            }
            survey_zone(store, &survey);
            unreadable = NOWHERE;
            continue;
        }
        if (newest == NO_BLOCK) {
            return survey.unreadable || unreadable != NOWHERE ? FP_SWAP_IO
                   : survey.other                             ? FP_SWAP_OTHER
                                                              : FP_SWAP_NO_STORE;
        }
        error = read_stream(store, newest, pairs, &for_ever, &broken);
        if (error) {
            return error;
        }
        /* The medium can be read now. */
        if (is_readable_now(store, unreadable)) {
            if (--tries == 0) {
                return FP_SWAP_IO;
            }
            survey_zone(store, &survey);
            unreadable = NOWHERE;
            continue;
        }
        find_states(store);
        /* Nothing relies yet on a block that may count or not. It is left out if another mount,
         * which did so, has erased what it is based on; and if no block is free, as each such block
         * keeps what is before it. */
        if (for_ever || (log->zone_free > 0 && !broken)) {
            uint32_t i;

            for (i = 0; i < log->zone_end && log->zone_free == 0; i++) {
                /* A block that this mount does not need is better than none. */
                if (state_of(&log->blocks[i]) == BLOCK_FREED) {
                    fp_log_set_state(store, i, BLOCK_FREE);
                }
            }
            return FP_SWAP_OK;
        }
    }
}

int fp_log_mount(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error = find_store(store);

    if (error) {
        return error;
    }
    log->mounting = true;
    error = fp_log_write_pair(store, PLACE_OPEN);
    log->mounting = false;
    if (!error) {
        error = erase_suspects(store);
    }
    /* From here on this is the only mount that happened: free blocks are free, and some are
     * reserved before heads may take them. */
    if (!error && log->reserved[1] == NO_BLOCK) {
        error = fp_log_write_pair(store, PLACE_NEXT);
    }
    return error ? error : fp_log_restock_zone(store);
}

int fp_log_format(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t newest = NOWHERE;
    uint32_t block;
    int error = find_store(store);

    /* Erase counters of the old store are kept if they could be found. */
    if (error) {
        settle_unknown(store, false);
    }
    log->entries = 0;
    for (block = 0; block < store->config->slot_count; block++) {
        store->where[block] = NOWHERE;
        store->size[block] = FP_SWAP_SIZE_NONE;
    }
    for (block = 0; block < block_count(store); block++) {
        struct fp_swap_block *b = &log->blocks[block];
        bool bad = medium->is_bad(medium->context, block);

        if ((b->flags & FLAG_SHOWS) &&
            (newest == NOWHERE || (int32_t)(b->stamp - log->blocks[newest].stamp) > 0)) {
            newest = block;
        }
        b->state_age = bad ? BLOCK_BAD : BLOCK_FREE;
        b->next = NO_BLOCK;
    }
    memset(&store->stat, 0, sizeof(store->stat));
    find_states(store);
    log->meta = NO_BLOCK;
    log->meta_pairs = 0;
    memset(log->reserved, 0xff, sizeof(log->reserved));
    /* The newest block goes last: until then there is a store, and afterwards there is none. */
    for (block = 0; block < log->zone_end; block++) {
        if (block != newest && state_of(&log->blocks[block]) == BLOCK_FREE) {
            error = fp_log_erase(store, block);
            if (error && error != PROGRAM_FAILED) {
                return error;
            }
        }
    }
    if (newest != NOWHERE) {
        error = fp_log_erase(store, newest);
        if (error && error != PROGRAM_FAILED) {
            return error;
        }
    }
    for (block = 0; block < block_count(store); block++) {
        log->blocks[block].flags &= FLAG_RETIRED;
    }
    log->unsaved = 0;
    log->next_item = 0;
    log->emitted = 0;
    error = fp_log_write_pair(store, PLACE_WHOLE);
    while (!error && log->emitted < item_count(store)) {
        error = fp_log_write_pair(store, PLACE_NEXT);
    }
    return error;
}
