/* Finding the records that the medium holds, whatever a power cut did to the end of the
 * log. */
#include "log_internal.h"

#include <string.h>

/* Pages in a row that cannot be read, while a block is scanned. */
struct gap {
    uint32_t first;    /* NOWHERE: none */
    uint64_t doubtful; /* records before this order may be outdated by unknown ones */
};

/* A record's place in the order of all records. */
static uint64_t record_order(const struct fp_swap *store, uint32_t where)
{
    return (uint64_t)store->of.log.blocks[block_of(store, where)].sequence << 32 | where;
}

/* Let a record count, unless the slot has a newer one. */
static void take_up_if_newer(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size)
{
    if (slot < store->config->slot_count &&
        (store->where[slot] == NOWHERE ||
         record_order(store, store->where[slot]) < record_order(store, where))) {
        fp_log_set_record(store, slot, where, size);
    }
}

/* Whether a page in the gap held records, and was not merely passed over; `page` and its
 * directory come after the gap. */
static bool lost_a_page(const struct gap *gap, uint32_t page, const struct directory *directory)
{
    return gap->first != NOWHERE && page > gap->first + directory->skipped;
}

/* What `page` held is not known: older records of any slot may be outdated. */
static void doubt_older(const struct fp_swap *store, struct gap *gap, uint32_t page)
{
    uint64_t order = record_order(store, where_of(store, page, entries_per_page(store) - 1u));

    gap->doubtful = order > gap->doubtful ? order : gap->doubtful;
}

/* The page after a gap names what was in the last page of it. Of those before that
 * one, nothing is known. */
static void close_gap(struct fp_swap *store, struct gap *gap, uint32_t page,
                      const struct directory *directory)
{
    uint32_t index;

    if (lost_a_page(gap, page, directory)) {
        uint32_t lost = page - 1u - directory->skipped;

        for (index = 0; index < directory->names; index++) {
            take_up_if_newer(
                store, fp_swap_get32(directory->page + directory->base + NAME_BYTES * index),
                where_of(store, lost, index), FP_SWAP_SIZE_LOST);
        }
        if (lost > gap->first) {
            doubt_older(store, gap, lost - 1u);
        }
    }
    gap->first = NOWHERE;
}

/* Whether the pages after a page passed over it: a power cut had torn it, though its
 * directory can be read. */
static bool was_skipped(struct fp_swap *store, uint32_t page, uint32_t end)
{
    uint32_t other;

    for (other = page + 1u; other < end; other++) {
        uint8_t trailer[TRAILER_BYTES];
        struct directory directory;

        if (fp_log_read(store, other, program_bytes(store) - TRAILER_BYTES, trailer,
                        TRAILER_BYTES)) {
            continue;
        }
        if (fp_log_parse_trailer(store, NULL, trailer, other).skipped == 0 &&
            fp_swap_get32(trailer + 4) ==
                store->of.log.blocks[page / pages_per_block(store)].sequence) {
            return false;
        }
        if (!fp_log_load_current_page(store, other, &directory)) {
            return directory.skipped >= other - page;
        }
    }
    return false;
}

/* Take up the records of a block. The last one may end in a record that the power cut
 * hit. */
static void scan_block(struct fp_swap *store, uint32_t block, bool last, struct gap *gap)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t first = block * pages_per_block(store);
    uint32_t end = first + log->blocks[block].pages;
    struct entry open = {0, 0, 0, 0}; /* a record that goes on in later pages */
    uint32_t open_at = 0;
    uint32_t open_end = 0; /* the page after its last; 0: none */
    bool counted = (log->blocks[block].flags & FLAG_COUNTED) != 0;
    struct directory directory;
    uint32_t page;

    gap->first = NOWHERE;
    for (page = first; page < end; page++) {
        uint32_t offset;
        uint32_t index;

        if (was_skipped(store, page, end) || fp_log_load_current_page(store, page, &directory)) {
            gap->first = gap->first == NOWHERE ? page : gap->first;
            continue;
        }
        if (open_end > 0) {
            if (directory.skipped > 0 && !lost_a_page(gap, page, &directory)) {
                open_end = 0;
            } else if (page + 1u >= open_end) {
                take_up_if_newer(store, open.slot, open_at, open.size);
                open_end = 0;
            }
        }
        close_gap(store, gap, page, &directory);
        offset = payload_begin(&directory) + directory.carried;
        for (index = 0; index < directory.count; index++) {
            struct entry entry = fp_log_get_entry(store, &directory, index);
            uint32_t entry_end =
                page + fp_log_pages_spanned(store, &directory, offset, entry.stored);

            offset += entry.stored;
            if (entry_end == page + 1u) {
                take_up_if_newer(store, entry.slot, where_of(store, page, index), entry.size);
            } else if (entry_end <= (counted ? first + pages_per_block(store) : end)) {
                open = entry;
                open_at = where_of(store, page, index);
                open_end = entry_end;
            } else if (last) {
                log->unfinished = entry.slot;
            }
        }
    }
    if (counted && open_end > 0) {
        /* Its last page is there no more. Had it never been, the record would be the
         * unfinished one that the log ends in, or superseded. */
        if (open.slot != log->unfinished) {
            take_up_if_newer(store, open.slot, open_at, open.size);
        }
        open_end = 0;
    }
    if (gap->first == NOWHERE) {
        return;
    }
    if (end < first + pages_per_block(store)) {
        /* A program failed, or a power cut: the next block names what was here. */
        uint32_t after = fp_log_find_next_opened(store, block);

        if (after == NOWHERE ||
            fp_log_load_current_page(store, after * pages_per_block(store), &directory)) {
            doubt_older(store, gap, end - 1u);
            return;
        }
        if (open_end > 0 && lost_a_page(gap, end, &directory)) {
            take_up_if_newer(store, open.slot, open_at, open.size);
        }
        close_gap(store, gap, end, &directory);
        return;
    }
    if (open_end > 0) {
        take_up_if_newer(store, open.slot, open_at, open.size);
    }
    if (end - gap->first > 1u) {
        doubt_older(store, gap, end - 2u);
    }
}

/* Whether the last page of a block is torn although its directory can be read. */
static bool ends_torn(struct fp_swap *store, uint32_t block)
{
    uint32_t page = block * pages_per_block(store) + store->of.log.blocks[block].pages - 1u;
    struct directory directory;

    return !fp_log_load_current_page(store, page, &directory) &&
           fp_log_content_crc(store, &directory) !=
               fp_swap_get32(directory.page + program_bytes(store) - TRAILER_BYTES + 16);
}

/* The newest block that holds anything; NOWHERE. */
static uint32_t find_last_block(const struct fp_swap *store)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t last = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        if (blocks[block].sequence != 0 && blocks[block].pages > 0 &&
            (last == NOWHERE || blocks[block].sequence > blocks[last].sequence)) {
            last = block;
        }
    }
    return last;
}

/* The slot of the record of which a block holds the beginning and nothing else; NOWHERE if
 * it holds something else. */
static uint32_t unfinished_slot(struct fp_swap *store, uint32_t block)
{
    uint32_t first = block * pages_per_block(store);
    uint32_t pages = store->of.log.blocks[block].pages;
    struct directory directory;
    uint32_t page;

    for (page = 0; page < pages; page++) {
        if (fp_log_load_current_page(store, first + page, &directory)) {
            return NOWHERE;
        }
        if (directory.count > 0) {
            struct entry entry = fp_log_get_entry(store, &directory, 0);

            uint32_t end = page + fp_log_pages_spanned(store, &directory,
                                                       fp_log_record_offset(store, &directory, 0),
                                                       entry.stored);

            return end > pages ? entry.slot : NOWHERE;
        }
    }
    return NOWHERE;
}

/* Leave out what a power cut hit at the end of the log: a torn page, and a block that then
 * holds no record. What that one says of the block before must be said again by the next
 * one, as it is free; its sequence stays, as it can be read until it is erased. Gives the
 * last block. */
static uint32_t drop_torn_end(struct fp_swap *store)
{
    uint32_t last = find_last_block(store);
    bool is_whole = false;

    while (last != NOWHERE) {
        struct fp_swap_block *b = &store->of.log.blocks[last];

        if (!is_whole && ends_torn(store, last)) {
            b->pages--;
            is_whole = b->pages > 0;
        }
        if (b->pages > 0) {
            uint32_t slot = unfinished_slot(store, last);

            if (slot == NOWHERE) {
                break;
            }
            store->of.log.unfinished = slot;
        }
        b->pages = 0;
        last = find_last_block(store);
    }
    return last;
}

/* Go on after the last page that can be read. Pages after that one may have been hit by
 * power cuts, one by each, even if they look blank: so it goes on in another block.
 * `same`: there is none to spare, go on in the block itself if pages are left, after
 * the one that the last cut may have hit. */
static void resume_after(struct fp_swap *store, uint32_t block, bool same)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block];
    uint32_t first = block * pages_per_block(store);
    uint32_t page = pages_per_block(store);
    struct directory directory;

    while (page > b->pages && fp_log_is_blank(store, first + page - 1u)) {
        page--;
    }
    page = page > b->pages ? page : b->pages + 1u;
    if (!fp_log_load_current_page(store, first + b->pages - 1u, &directory)) {
        memcpy(log->head, log->cache, program_bytes(store));
        log->count = directory.count;
        fp_log_keep_names(store);
        log->count = 0;
    }
    log->cached = NOWHERE;
    if (!same || page + 1u >= pages_per_block(store)) {
        log->last_pages = b->pages;
        log->last_block = block;
        log->last_sequence = b->sequence;
        return;
    }
    log->skipped = (uint16_t)(page - b->pages);
    log->free -= b->state == BLOCK_FREE;
    b->state = BLOCK_HEAD;
    b->flags &= (uint8_t)~FLAG_NEEDS_NEXT;
    log->block = block;
    log->page = page;
    fp_log_begin_page(store);
}

/* Whether only the block opened after a block says what its last page held, or that what
 * can be read behind that does not count. */
static bool needs_next_block(struct fp_swap *store, uint32_t block)
{
    uint32_t first = block * pages_per_block(store);
    uint32_t pages = store->of.log.blocks[block].pages;
    struct directory directory;
    uint32_t page;

    if (pages == pages_per_block(store)) {
        return false;
    }
    if (pages > 0 && (fp_log_load_current_page(store, first + pages - 1u, &directory) ||
                      directory.count > 0)) {
        return true;
    }
    for (page = pages; page < pages_per_block(store); page++) {
        if (!fp_log_load_current_page(store, first + page, &directory)) {
            return true;
        }
    }
    return false;
}

/* Leave out blocks of another epoch, and the next one, which may be half erased. Pages in
 * use are not known yet: 0xffff. */
static void leave_out_old_blocks(struct fp_swap *store, const struct block_header *newest)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (b->state == BLOCK_BAD) {
            continue;
        }
        if (b->pages != (uint16_t)log->epoch ||
            (block == newest->next && b->sequence < newest->sequence)) {
            b->sequence = 0;
        }
        b->pages = 0xffffu;
        log->sequence = b->sequence > log->sequence ? b->sequence : log->sequence;
    }
}

/* Find blocks that hold something of which nothing can be read. */
static void find_unreadable_blocks(struct fp_swap *store, const struct block_header *newest)
{
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        struct fp_swap_block *b = &store->of.log.blocks[block];
        struct block_header header;

        if (b->state != BLOCK_BAD && b->sequence == 0 && block != newest->next &&
            !fp_log_read_header(store, block, &header) &&
            !fp_log_is_blank(store, block * pages_per_block(store))) {
            fp_log_find_lost_page(store, block);
            /* What can be read in it may look like a part of the log later. */
            b->flags |= b->sequence == 0 ? FLAG_NEEDS_NEXT : 0u;
        }
    }
}

/* Find how many pages of each block are in use: as the header of the next block says, or
 * as can be read. */
static void count_all_pages(struct fp_swap *store)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t count = store->config->medium->block_count;
    uint32_t block;

    for (block = 0; block < count; block++) {
        struct block_header header;

        if (blocks[block].sequence != 0 && fp_log_read_header(store, block, &header)) {
            fp_log_apply_header(store, &header);
        }
    }
    for (block = 0; block < count; block++) {
        if (blocks[block].sequence != 0 && blocks[block].pages == 0xffffu) {
            blocks[block].pages = fp_log_count_pages(store, block);
            blocks[block].flags |= FLAG_COUNTED;
        }
    }
}

/* Take up the records of all blocks, the last one's first. Gives the order before which
 * records may be outdated. */
static uint64_t scan_all_blocks(struct fp_swap *store, uint32_t last)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    struct gap gap = {NOWHERE, 0};
    uint32_t block;

    if (last != NOWHERE) {
        blocks[last].flags &= (uint8_t)~FLAG_COUNTED;
        scan_block(store, last, true, &gap);
    }
    for (block = 0; block < store->config->medium->block_count; block++) {
        if (blocks[block].sequence != 0 && blocks[block].pages > 0 && block != last) {
            scan_block(store, block, false, &gap);
        }
        blocks[block].flags &= (uint8_t)~FLAG_COUNTED;
    }
    return gap.doubtful;
}

/* Call lost what may be outdated, and empty slots, which may hold what cannot be read. */
static void lose_doubtful(struct fp_swap *store, uint64_t doubtful)
{
    uint32_t slot;

    store->of.log.lost_unwritten = doubtful > 0;
    for (slot = 0; slot < store->config->slot_count && doubtful > 0; slot++) {
        uint32_t where = store->where[slot];

        if (where == NOWHERE || record_order(store, where) < doubtful) {
            fp_log_set_record(store, slot, where, FP_SWAP_SIZE_LOST);
        }
    }
}

/* Set the states of blocks, and which one is opened next. */
static void settle_blocks(struct fp_swap *store, const struct block_header *newest, uint32_t last)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t count = store->config->medium->block_count;
    uint32_t block;

    for (block = 0; block < count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (b->state != BLOCK_BAD) {
            b->state = b->live > 0 ? BLOCK_CLOSED : BLOCK_FREE;
            log->free += b->state == BLOCK_FREE;
        }
    }
    if (newest->next < count && newest->next != last &&
        log->blocks[newest->next].state == BLOCK_FREE) {
        log->next = newest->next;
    }
    for (block = 0; block < count; block++) {
        if (log->blocks[block].sequence != 0 && needs_next_block(store, block)) {
            log->blocks[block].flags |= FLAG_NEEDS_NEXT;
            fp_log_mark_urgent(store, block, 0);
        }
    }
}

void fp_log_recover(struct fp_swap *store, const struct block_header *newest,
                    uint32_t newest_block)
{
    uint32_t last;

    leave_out_old_blocks(store, newest);
    find_unreadable_blocks(store, newest);
    count_all_pages(store);
    last = drop_torn_end(store);
    lose_doubtful(store, scan_all_blocks(store, last));
    settle_blocks(store, newest, last);
    if (last != NOWHERE) {
        resume_after(store, last, last == newest_block && store->of.log.free < 2u);
    }
}
