/* The meta stream: entries wait in the journal and a commit writes them. Chunks of all items follow
 * one another, so that a mount need not read more than a cycle of them. */
#include "log_internal.h"

#include <string.h>

/* The most entries that may wait for a record that is still in a head. With more, the head is
 * programmed. */
#define MOST_WAITING 8u

static uint32_t journal_key(const struct fp_swap *store, uint32_t index)
{
    return fp_swap_get32(store->of.log.journal + ENTRY_BYTES * index);
}

static struct entry journal_entry(const struct fp_swap *store, uint32_t index)
{
    return fp_log_parse_entry(store->of.log.journal + ENTRY_BYTES * index);
}

static void set_marks(struct fp_swap *store, uint32_t index, uint32_t marks)
{
    uint8_t *at = store->of.log.journal + ENTRY_BYTES * index;

    fp_swap_put32(at, (fp_swap_get32(at) & ~(KEY_HELD | KEY_DROPPED)) | marks);
}

void fp_log_note(struct fp_swap *store, uint32_t key, uint32_t value, uint16_t extra)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct entry entry;

    entry.key = key;
    entry.value = value;
    entry.extra = extra;
    fp_log_encode_entry(log->journal + ENTRY_BYTES * log->entries, &entry);
    log->entries++;
}

/* Returns the head that an entry waits for, or FP_SWAP_LOG_HEADS. */
static uint32_t waits_for(const struct fp_swap *store, const struct entry *entry)
{
    return has_record(entry->extra) ? fp_log_pending_in(store, entry->value, entry->extra)
                                    : FP_SWAP_LOG_HEADS;
}

/* Returns a head that too many entries wait for, or FP_SWAP_LOG_HEADS. */
static FP_APART uint32_t head_waited_for(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t head = FP_SWAP_LOG_HEADS;
    uint32_t waiting = 0;
    uint32_t i;

    for (i = 0; i < log->entries; i++) {
        struct entry entry = journal_entry(store, i);

        if (entry.key & KEY_MOVED) {
            continue;
        }
        if (head == FP_SWAP_LOG_HEADS) {
            head = waits_for(store, &entry);
        } else if (++waiting > MOST_WAITING) {
            return head;
        }
    }
    return FP_SWAP_LOG_HEADS;
}

/* Returns true if one of the entries `from` to `to` belongs to a slot and is held, or is not held,
 * as
 * `held` says. */
static bool has_entry(const struct fp_swap *store, uint32_t slot, uint32_t from, uint32_t to,
                      bool held)
{
    uint32_t i;

    for (i = from; i < to; i++) {
        uint32_t key = journal_key(store, i);

        if ((key & KEY_SLOT) == slot && !(key & KEY_DROPPED) && !(key & KEY_HELD) == !held) {
            return true;
        }
    }
    return false;
}

/* Marks the entries that the next pair leaves out, and counts them. Entries of callers stay in
 * order; entries of moved records may wait. */
static FP_APART void mark_journal(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    bool waiting = false;
    uint32_t held = 0;
    uint32_t i;

    for (i = 0; i < log->entries; i++) {
        struct entry entry = journal_entry(store, i);
        bool pending = waits_for(store, &entry) != FP_SWAP_LOG_HEADS;
        bool moved = (entry.key & KEY_MOVED) != 0;

        waiting = waiting || (pending && !moved);
        if (moved ? pending || (held > 0 && has_entry(store, entry.key & KEY_SLOT, 0, i, true))
                  : waiting) {
            set_marks(store, i, KEY_HELD);
            held++;
        } else {
            set_marks(store, i, 0);
        }
    }
    /* A move that waits must not undo a newer entry of this pair. */
    for (i = 0; i < log->entries && held > 0; i++) {
        uint32_t key = journal_key(store, i);

        if ((key & KEY_HELD) && (key & KEY_MOVED) &&
            has_entry(store, key & KEY_SLOT, i + 1u, log->entries, false)) {
            set_marks(store, i, KEY_DROPPED);
            held--;
        }
    }
    log->held = held;
}

/* Returns the number of items of the chunk on a page with `room` free bytes. The chunk ends before
 * a slot whose entry is held. */
static uint32_t chunk_items(const struct fp_swap *store, uint32_t first, uint32_t room)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t items = room / ITEM_BYTES;
    uint32_t i;

    items = items < item_count(store) - first ? items : item_count(store) - first;
    for (i = 0; i < log->entries; i++) {
        uint32_t key = journal_key(store, i);
        uint32_t slot = key & KEY_SLOT;

        if ((key & KEY_HELD) && slot >= first && slot - first < items) {
            items = slot - first;
        }
    }
    return items;
}

/* Contents of a page. */
enum content {
    CONTENT_ALL,    /* entries and a chunk */
    CONTENT_BLOCKS, /* entries of blocks only */
    CONTENT_CHUNK,
};

/* Encodes entries and a chunk from `first` on into log->page; the header is complete except for the
 * links. Returns how many entries are of blocks. */
static uint32_t encode_content(struct fp_swap *store, enum content content, uint32_t first,
                               struct meta_header *header)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint8_t *at = fp_log_page_entries(log->page);
    uint32_t most = (meta_room(store) - ITEM_BYTES) / ENTRY_BYTES;
    uint32_t count = 0;
    uint32_t blocks = 0;
    uint32_t i;

    log->cached = NOWHERE;
    memset(log->page, 0xff, program_bytes(store));
    for (i = 0; i < log->entries && content == CONTENT_ALL; i++) {
        struct entry entry = journal_entry(store, i);

        if (!(entry.key & (KEY_HELD | KEY_DROPPED))) {
            entry.key &= KEY_SLOT;
            fp_log_encode_entry(at, &entry);
            at += ENTRY_BYTES;
            count++;
        }
    }
    for (i = 0; i < block_count(store) && blocks < log->unsaved && count < most &&
                content != CONTENT_CHUNK;
         i++) {
        if (log->blocks[i].flags & FLAG_UNSAVED) {
            struct entry entry = fp_log_get_item(store, store->config->slot_count + i);

            fp_log_encode_entry(at, &entry);
            at += ENTRY_BYTES;
            count++;
            blocks++;
        }
    }
    header->first = first;
    header->entries = (uint16_t)count;
    header->items = 0;
    if (content != CONTENT_BLOCKS) {
        header->items =
            (uint16_t)chunk_items(store, first, meta_room(store) - ENTRY_BYTES * count);
    }
    for (i = 0; i < header->items; i++) {
        struct entry entry = fp_log_get_item(store, first + i);

        fp_log_encode_item(at + ITEM_BYTES * i, &entry);
    }
    return blocks;
}

/* Programs both copies of log->page. */
static int program_pair(struct fp_swap *store, uint32_t block, uint32_t pair,
                        const struct meta_header *header)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t copy;

    for (copy = 0; copy < 2u; copy++) {
        uint32_t index = 2u * pair + copy;

        fp_log_seal_page(store, log->page, header, block, index);
        if (medium->program(medium->context, block, index * program_bytes(store), log->page,
                            program_bytes(store)) < 0) {
            return PROGRAM_FAILED;
        }
        store->stat.programmed_size += program_bytes(store);
    }
    return FP_SWAP_OK;
}

/* Clears the mark of the first `count` blocks whose items were not saved. */
static void clear_unsaved(struct fp_swap *store, uint32_t count)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    for (i = 0; i < block_count(store) && count > 0; i++) {
        if (log->blocks[i].flags & FLAG_UNSAVED) {
            log->blocks[i].flags &= (uint8_t)~FLAG_UNSAVED;
            log->unsaved--;
            count--;
        }
    }
}

/* Frees a block after the commit from which on nothing in it is needed. */
static int release(struct fp_swap *store, uint32_t block)
{
    if (store->of.log.blocks[block].flags & FLAG_RETIRED) {
        return fp_log_make_bad(store, block);
    }
    fp_log_set_state(store, block, BLOCK_FREE);
    return FP_SWAP_OK;
}

/* Frees meta blocks older than a cycle. */
static int release_meta_blocks(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error = FP_SWAP_OK;
    uint32_t i;

    for (i = 0; i < log->zone_end && !error; i++) {
        if (state_of(&log->blocks[i]) == BLOCK_META && i != log->meta &&
            log->emitted - log->blocks[i].live >= item_count(store)) {
            error = release(store, i);
        }
    }
    return error;
}

/* Removes the written entries from the journal, and frees the blocks that no held entry still
 * needs. */
static int settle_journal(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t held = 0;
    uint32_t i;
    int error = FP_SWAP_OK;

    for (i = 0; i < block_count(store) && log->freed > 0 && !error; i++) {
        struct fp_swap_block *b = &log->blocks[i];
        uint32_t before = 0;
        uint32_t entry;

        if (state_of(b) != BLOCK_FREED) {
            continue;
        }
        for (entry = 0; entry < b->stamp && entry < log->entries; entry++) {
            before += (journal_key(store, entry) & KEY_HELD) != 0;
        }
        b->stamp = before;
        if (before == 0) {
            error = release(store, i);
        }
    }
    for (i = 0; i < log->entries; i++) {
        if (journal_key(store, i) & KEY_HELD) {
            memmove(log->journal + ENTRY_BYTES * held, log->journal + ENTRY_BYTES * i,
                    ENTRY_BYTES);
            set_marks(store, held, 0);
            held++;
        }
    }
    log->entries = held;
    log->held = 0;
    return error;
}

/* Returns how many pairs with chunks only follow a first pair that has `items` items. The last one
 * confirms the block. */
static uint16_t pairs_behind(const struct fp_swap *store, enum place place, uint32_t items)
{
    uint32_t per_pair = meta_room(store) / ITEM_BYTES;
    uint32_t pairs = 1;

    if (place == PLACE_WHOLE && items < item_count(store)) {
        /* One chunk ends with the last item. */
        pairs = (item_count(store) - items + per_pair - 1u) / per_pair + 1u;
    }
    return (uint16_t)(pairs < pairs_per_block(store) ? pairs : pairs_per_block(store) - 1u);
}

/* Returns how many blocks to reserve, as long as heads have space. */
static uint32_t wanted_reserve(const struct fp_swap *store)
{
    uint32_t kept = fp_log_zone_kept(store);

    if (store->of.log.lent) {
        return 1;
    }
    /* On a small medium more blocks are used up between two mounts. */
    return block_count(store) < 128u ? FP_SWAP_LOG_RESERVED : kept < 2u ? kept : 2u;
}

/* Reserves blocks, one of which will be the next meta block after `block`: those that were reserved
 * before, if they are free, and others. A mount reserves no others. */
static void reserve(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t wanted = wanted_reserve(store);
    uint32_t count = 0;
    uint32_t i;

    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        uint16_t named = log->reserved[i];

        log->reserved[i] = NO_BLOCK;
        if (named != NO_BLOCK && named != block && state_of(&log->blocks[named]) == BLOCK_FREE &&
            count < wanted) {
            log->reserved[count++] = named;
        }
    }
    while (count < wanted && !log->mounting) {
        uint32_t best = NOWHERE;

        for (i = 0; i < log->zone_end; i++) {
            if (state_of(&log->blocks[i]) == BLOCK_FREE && i != block && !is_reserved(store, i) &&
                (best == NOWHERE || log->blocks[i].erases < log->blocks[best].erases)) {
                best = i;
            }
        }
        if (best == NOWHERE) {
            return;
        }
        log->reserved[count++] = (uint16_t)best;
    }
}

/* Returns true if all items must follow the first pair of a meta block that is opened now: the next
 * mount, whenever it is, needs a block of the zone, too. */
static bool is_short_of_zone(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    uint32_t whole = fp_log_whole_blocks(store);

    return log->zone_free <= whole ||
           log->meta_blocks + whole > fp_log_meta_limit(store) + (whole > 1u);
}

/* Returns true if the next pair goes to a new meta block. */
static bool is_meta_full(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    return log->meta == NO_BLOCK || log->meta_pairs == pairs_per_block(store) ||
           (log->blocks[log->meta].flags & FLAG_RETIRED);
}

/* Opens a meta block with the pending content. Returns PROGRAM_FAILED if that fails. */
static int open_meta_block(struct fp_swap *store, enum content content, enum place place,
                           uint32_t *items, uint32_t *blocks)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct meta_header header;
    struct fp_swap_block *b;
    uint32_t pair;
    uint16_t block;
    int error = fp_log_take_meta_block(store, &block);

    if (error) {
        return error;
    }
    /* The block is still free. */
    if (is_short_of_zone(store)) {
        place = PLACE_WHOLE;
    }
    log->lent = false;
    reserve(store, block);
    memcpy(header.reserved, log->reserved, sizeof(header.reserved));
    header.generation = ++log->generation;
    header.link_block = log->meta;
    header.link_pairs = log->meta_pairs;
    header.link_generation = log->meta == NO_BLOCK ? 0 : log->blocks[log->meta].stamp;
    *blocks = encode_content(store, content, log->next_item, &header);
    *items = header.items;
    header.confirmed = pairs_behind(store, place, *items);
    error = program_pair(store, block, 0, &header);
    for (pair = 1; pair <= header.confirmed && !error; pair++) {
        (void)encode_content(store, CONTENT_CHUNK, (log->next_item + *items) % item_count(store),
                             &header);
        /* The journal's entries are not on the medium yet. */
        header.items = content == CONTENT_BLOCKS ? 0 : header.items;
        *items += header.items;
        error = program_pair(store, block, pair, &header);
    }
    if (error) {
        /* Nothing in the block counts. */
        error = fp_log_make_bad(store, block);
        return error ? error : PROGRAM_FAILED;
    }
    if (log->meta != NO_BLOCK) {
        log->blocks[log->meta].live = log->emitted;
    }
    log->link_block = header.link_block;
    log->link_pairs = header.link_pairs;
    log->link_generation = header.link_generation;
    log->confirmed = header.confirmed;
    fp_log_set_state(store, block, BLOCK_META);
    b = &log->blocks[block];
    b->flags &= FLAG_UNSAVED;
    b->stamp = header.generation;
    b->next = NO_BLOCK;
    b->live = 0;
    log->meta = block;
    log->meta_pairs = (uint16_t)(header.confirmed + 1u);
    log->opened = true;
    return FP_SWAP_OK;
}

/* Writes a pair after the last one. Returns PROGRAM_FAILED if that fails. */
static int append_pair(struct fp_swap *store, enum content content, uint32_t *items,
                       uint32_t *blocks)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct meta_header header;

    header.generation = log->blocks[log->meta].stamp;
    header.link_block = log->link_block;
    header.link_pairs = log->link_pairs;
    header.link_generation = log->link_generation;
    header.confirmed = log->confirmed;
    reserve(store, NOWHERE);
    memcpy(header.reserved, log->reserved, sizeof(header.reserved));
    *blocks = encode_content(store, content, log->next_item, &header);
    *items = header.items;
    if (program_pair(store, log->meta, log->meta_pairs, &header)) {
        log->blocks[log->meta].flags |= FLAG_RETIRED;
        fp_log_mark_unsaved(store, log->meta);
        return PROGRAM_FAILED;
    }
    log->meta_pairs++;
    return FP_SWAP_OK;
}

static int write_pair(struct fp_swap *store, enum content content, enum place place)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t items = 0;
    uint32_t blocks = 0;
    int error;

    do {
        if (place == PLACE_NEXT && is_meta_full(store)) {
            place = PLACE_OPEN;
        }
        if (place == PLACE_NEXT) {
            /* If it fails the block is retired, and the next attempt opens another. */
            error = append_pair(store, content, &items, &blocks);
        } else {
            error = open_meta_block(store, content, place, &items, &blocks);
        }
    } while (error == PROGRAM_FAILED);
    if (error) {
        return error;
    }
    clear_unsaved(store, blocks);
    log->emitted += items;
    log->next_item = (log->next_item + items) % item_count(store);
    return release_meta_blocks(store);
}

int fp_log_write_pair(struct fp_swap *store, enum place place)
{
    const struct fp_swap_log_state *log = &store->of.log;
    int error = FP_SWAP_OK;

    /* Entries of blocks that do not fit go first, because they do not describe slots. The entries that
     * a mount writes again are in the first pair of its block. */
    while (!error && place == PLACE_NEXT && log->unsaved > 4u &&
           log->entries - log->held + log->unsaved + 4u >
               (meta_room(store) - ITEM_BYTES) / ENTRY_BYTES) {
        error = write_pair(store, CONTENT_BLOCKS, PLACE_NEXT);
    }
    if (!error) {
        error = write_pair(store, CONTENT_ALL, place);
    }
    return error ? error : settle_journal(store);
}

uint32_t fp_log_meta_limit(const struct fp_swap *store)
{
    uint32_t per_block = (pairs_per_block(store) - 1u) * (meta_room(store) / 2u);

    return (item_count(store) * ITEM_BYTES + per_block - 1u) / per_block + 2u;
}

uint32_t fp_log_whole_blocks(const struct fp_swap *store)
{
    /* The first pair may have no items, and a mount does not count the last one. */
    uint32_t per_block = (pairs_per_block(store) - 2u) * (meta_room(store) / ITEM_BYTES);

    return (item_count(store) + per_block - 1u) / per_block;
}

/* Returns true if the journal or the cycle would stop if the entries that wait for heads did. */
static FP_APART bool is_held_up(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t chunk = meta_room(store) / 4u / ITEM_BYTES;

    chunk = chunk < item_count(store) - log->next_item ? chunk
                                                       : item_count(store) - log->next_item;
    return log->held > journal_capacity(store) / 2u ||
           chunk_items(store, log->next_item, chunk * ITEM_BYTES) < chunk ||
           (is_meta_full(store) && is_short_of_zone(store));
}

/* Marks the entries of the next pair. With `all` that is the whole journal, and the heads are
 * programmed first. Otherwise heads are programmed only if the journal or the cycle would stop, as
 * the cycle does at a slot whose entry waits. */
static FP_APART int mark_entries(struct fp_swap *store, bool all)
{
    uint32_t age;
    int error = FP_SWAP_OK;

    while (!all && (age = head_waited_for(store)) != FP_SWAP_LOG_HEADS) {
        error = fp_log_flush(store, age);
        if (error) {
            return error;
        }
    }
    mark_journal(store);
    if (all || is_held_up(store)) {
        for (age = 0; age < head_count(store) && !error; age++) {
            error = fp_log_flush(store, age);
        }
        mark_journal(store);
    }
    return error;
}

int fp_log_compact_meta(struct fp_swap *store, uint32_t most)
{
    int error = FP_SWAP_OK;

    while (!error && most-- > 0 && store->of.log.meta_blocks > fp_log_meta_limit(store)) {
        error = mark_entries(store, false);
        if (!error) {
            error = fp_log_write_pair(store, PLACE_NEXT);
        }
    }
    return error;
}

int fp_log_commit(struct fp_swap *store, bool all)
{
    int error;

    if (store->of.log.failed) {
        return FP_SWAP_IO;
    }
    error = mark_entries(store, all);
    if (!error) {
        error = fp_log_write_pair(store, PLACE_NEXT);
    }
    return error ? error : fp_log_compact_meta(store, 2);
}

int fp_log_sync(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    if (log->failed) {
        return FP_SWAP_IO;
    }
    return log->entries > 0 ? fp_log_commit(store, true) : FP_SWAP_OK;
}
