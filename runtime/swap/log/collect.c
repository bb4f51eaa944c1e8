/* Garbage collection and wear levelling: live records move to the heads, and their blocks become
 * free. Each write pays for a part of it. */
#include "log_internal.h"

#include <string.h>

uint64_t fp_log_slack(const struct fp_swap_config *config)
{
    return (uint64_t)config->medium->block_bytes * 17u / 8u;
}

/* Returns how many free blocks heads may take. */
static uint32_t usable_blocks(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    uint32_t kept = fp_log_zone_kept(store);
    uint32_t reserved = 0;
    uint32_t i;

    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        uint32_t block = log->reserved[i];

        reserved += block != NO_BLOCK && state_of(&log->blocks[block]) == BLOCK_FREE;
    }
    kept = kept > reserved ? kept : reserved;
    return log->free - (log->zone_free < kept ? log->zone_free : kept);
}

/* Returns the free bytes in the block of a head. */
static uint32_t head_room(const struct fp_swap *store, uint32_t age)
{
    const struct fp_swap_log_head *head = &store->of.log.heads[age];

    return head->block == NO_BLOCK
               ? 0
               : block_bytes(store) - head->pages * program_bytes(store) - head->fill;
}

/* Returns the bytes that heads can take before more is collected. */
static uint64_t free_bytes(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint64_t bytes = (uint64_t)(usable_blocks(store) + log->freed) * block_bytes(store);
    uint32_t age;

    for (age = 0; age < head_count(store); age++) {
        bytes += head_room(store, age);
    }
    return bytes;
}

/* Returns the bytes that stay free while a victim is collected: enough that heads need not wait,
 * and more if there is plenty. */
static uint64_t slack(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint64_t dead = (uint64_t)block_count(store) * block_bytes(store) - log->live;
    uint64_t least = fp_log_slack(store->config);

    return dead / 16u > least ? dead / 16u : least;
}

/* Returns the head for records of an age: below the usual life of a block of the first head, below
 * 4 such lives, or above (SepBIT, FAST 2022, infers a page's life from that of the page it
 * replaces). */
static uint32_t head_of_age(const struct fp_swap *store, uint32_t age)
{
    uint32_t life = store->of.log.life;
    uint32_t head = 0;

    while (head + 1u < head_count(store) && age >= life) {
        life = life < 0x3fffffffu ? life * 4u : 0xffffffffu;
        head++;
    }
    return head;
}

uint32_t fp_log_age_of_write(const struct fp_swap *store, uint32_t slot)
{
    const struct fp_swap_log_state *log = &store->of.log;

    if (!has_record(store->size[slot])) {
        return head_count(store) - 1u;
    }
    return head_of_age(store,
                       log->clock - log->blocks[block_of(store, store->location[slot])].stamp);
}

/* Chooses the block to collect, for the most gain for the least moved, and whose contents are
 * oldest. With `greedy`, for the most gain alone. */
static uint32_t choose_victim(const struct fp_swap *store, uint32_t end, bool greedy)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t least = store->config->page_bytes + RECORD_HEADER;
    uint32_t best = NOWHERE;
    uint64_t best_score = 0;
    uint32_t block;

    for (block = 0; block < end; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint64_t dead = block_bytes(store) - b->live;
        uint64_t score = dead;

        if (state_of(b) != BLOCK_CLOSED || dead <= PREAMBLE_BYTES) {
            continue;
        }
        if (!greedy) {
            /* The score is like dead * sqrt(age). */
            score = dead < least ? 0 : (dead * dead >> 4) * ((log->clock - b->stamp) / 4u + 1u);
        }
        if (best == NOWHERE || score > best_score) {
            best_score = score;
            best = block;
        }
    }
    return best;
}

/* Returns a block that must be collected though little is gained: its bits had to be corrected, a
 * program in it failed, or it does not change while others wear out. */
static uint32_t choose_urgent(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t mean = fp_log_mean_erases(store);
    uint32_t lives = (uint32_t)FP_DIV64(log->live, store->config->page_bytes + RECORD_HEADER);
    uint32_t best = NOWHERE;
    uint32_t most = 0;
    uint32_t block;

    for (block = 0; block < block_count(store); block++) {
        const struct fp_swap_block *b = &log->blocks[block];

        if (state_of(b) == BLOCK_FREE && b->erases > most) {
            most = b->erases;
        }
        if (state_of(b) != BLOCK_CLOSED) {
            continue;
        }
        if (b->flags & FLAG_URGENT) {
            return block;
        }
        if (log->clock - b->stamp >= lives &&
            (best == NOWHERE || b->erases < log->blocks[best].erases)) {
            best = block;
        }
    }
    /* Its contents go to the most worn free block: see fp_log_take_block(). */
    if (best != NOWHERE && (most < mean + mean / 16u + 1u || log->blocks[best].erases + 4u > most ||
                            log->blocks[best].erases > mean - mean / 16u)) {
        best = NOWHERE;
    }
    return best;
}

/* Returns a block for the meta stream to use in place of one that it has worn, or NOWHERE. */
static uint32_t choose_exchange(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t mean = fp_log_mean_erases(store);
    uint32_t least = NOWHERE;
    uint32_t best = NOWHERE;
    uint32_t block;

    if (!log->opened) {
        return NOWHERE;
    }
    log->opened = false;
    for (block = 0; block < log->zone_end; block++) {
        const struct fp_swap_block *b = &log->blocks[block];

        if (state_of(b) == BLOCK_FREE && b->erases < least) {
            least = b->erases;
        }
        if (state_of(b) == BLOCK_CLOSED &&
            (best == NOWHERE || b->erases < log->blocks[best].erases)) {
            best = block;
        }
    }
    return best != NOWHERE && least != NOWHERE && least > mean + 1u &&
                   log->blocks[best].erases < mean
               ? best
               : NOWHERE;
}

static uint32_t choose(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint64_t space = free_bytes(store);
    uint32_t block = NOWHERE;

    if (log->zone_free + log->zone_freed < fp_log_zone_kept(store)) {
        block = choose_victim(store, log->zone_end, false);
    }
    if (block == NOWHERE) {
        block = choose_exchange(store);
    }
    if (block == NOWHERE && space <= slack(store) + block_bytes(store)) {
        block = choose_victim(store, block_count(store),
                              space + block_bytes(store) / 2u < slack(store));
    }
    return block;
}

static void begin(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_log_state *log = &store->of.log;
    const struct fp_swap_block *b = &log->blocks[block];

    log->victim = (uint16_t)block;
    log->cursor = 0;
    log->cached = NOWHERE;
    if (age_of(b) == 0) {
        uint32_t life = log->clock - b->stamp;

        log->life = log->life == NOWHERE
                        ? life
                        : (uint32_t)(((uint64_t)log->life * 15u + life) / 16u);
    }
}

/* Returns true if a head has space for so many bytes. */
static bool has_room(const struct fp_swap *store, uint32_t age, uint32_t bytes)
{
    return usable_blocks(store) > 0 || head_room(store, age) >= bytes;
}

/* Returns the most entries that wait for a commit: half a page of them, or all that a pair holds if
 * one commit must have all of a block. Four are left for blocks. */
static uint32_t journal_limit(const struct fp_swap *store)
{
    return store->of.log.swapping ? (meta_room(store) - ITEM_BYTES) / ENTRY_BYTES - 4u
                                  : journal_capacity(store);
}

int fp_log_prepare(struct fp_swap *store, uint32_t bytes, uint32_t *age)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t all;
    uint32_t head;
    int error = FP_SWAP_OK;

    for (all = 0; all < 2u && !error; all++) {
        if (log->entries >= journal_limit(store) ||
            (log->freed > 0 && (!has_room(store, *age, bytes) || (log->zone_free == 0 && !all)))) {
            error = fp_log_commit(store, all > 0);
        }
        /* A record in the wrong head is better than a commit that fills up pages. */
        for (head = 0; head < head_count(store) && !has_room(store, *age, bytes); head++) {
            if (has_room(store, head, bytes)) {
                *age = head;
            }
        }
    }
    if (!error && bytes > 0 && !has_room(store, *age, bytes) && !log->lent) {
        /* Heads may take reserved blocks once a commit says so. */
        log->lent = true;
        error = fp_log_commit(store, true);
    }
    return error;
}

/* Copies a slot's record to a head, or loses it. */
static FP_APART int copy_record(struct fp_swap *store, uint32_t slot, uint32_t head)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint16_t size = store->size[slot];
    uint32_t to;
    int error;

    log->unreadable = false;
    error = fp_log_append(store, head, slot, NULL, record_bytes(size));
    if (error) {
        return error;
    }
    to = log->heads[head].location;
    store->stat.moved_size += size;
    if (log->unreadable) {
        if (!fp_log_is_alive(store)) {
            return FP_SWAP_IO;
        }
        to = NOWHERE;
        size = FP_SWAP_SIZE_LOST;
    }
    fp_log_set_record(store, slot, to, size);
    fp_log_note(store, slot | KEY_MOVED, to, size);
    return FP_SWAP_OK;
}

/* Returns the head for a record of the victim. */
static FP_APART uint32_t head_of_move(const struct fp_swap *store, uint32_t slot)
{
    const struct fp_swap_log_state *log = &store->of.log;
    const struct fp_swap_block *b = &log->blocks[block_of(store, store->location[slot])];
    uint32_t head = head_of_age(store, log->clock - b->stamp);

    head = head > age_of(b) ? head : age_of(b);
    return head < head_count(store) ? head : head_count(store) - 1u;
}

/* Returns true if a block has bytes of a slot's record. */
static bool lies_in(const struct fp_swap *store, uint32_t slot, uint32_t block)
{
    uint32_t location = store->location[slot];
    uint16_t size = store->size[slot];

    return has_record(size) && (block_of(store, location) == block ||
                                (bytes_in_first(store, location, size) < record_bytes(size) &&
                                 store->of.log.blocks[block_of(store, location)].next == block));
}

/* Returns a slot with live bytes in the victim, for when its own bytes do not tell. */
static uint32_t find_live(const struct fp_swap *store)
{
    uint32_t slot = 0;

    while (slot < store->config->slot_count && !lies_in(store, slot, store->of.log.victim)) {
        slot++;
    }
    return slot;
}

/* Reads bytes of the victim, a flash page at a time: log->page keeps the last one. */
static int read_victim(struct fp_swap *store, uint32_t offset, uint8_t *data, uint32_t size)
{
    struct fp_swap_log_state *log = &store->of.log;

    while (size > 0) {
        uint32_t index = offset / program_bytes(store);
        uint32_t page = log->victim * pages_per_block(store) + index;
        uint32_t at = offset % program_bytes(store);
        uint32_t n = program_bytes(store) - at < size ? program_bytes(store) - at : size;

        if (log->cached != page) {
            log->cached = NOWHERE;
            if (fp_log_read_medium(store, log->victim, index * program_bytes(store), log->page,
                                   program_bytes(store))) {
                return FP_SWAP_IO;
            }
            log->cached = page;
        }
        memcpy(data, log->page + at, n);
        data += n;
        offset += n;
        size -= n;
    }
    return FP_SWAP_OK;
}

/* Returns the slot of the victim's next live record, from the block's own bytes, or NOWHERE at its
 * end. The cursor is after the record then. */
static uint32_t next_live(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block = log->victim;
    uint8_t bytes[RECORD_HEADER];
    struct record_header header;

    if (log->cursor == 0) {
        uint32_t slot;

        if (read_victim(store, 0, bytes, PREAMBLE_BYTES)) {
            return NOWHERE;
        }
        slot = fp_swap_get32(bytes);
        log->cursor = PREAMBLE_BYTES + fp_swap_get32(bytes + 8);
        if (slot < store->config->slot_count && lies_in(store, slot, block) &&
            store->location[slot] == fp_swap_get32(bytes + 4)) {
            return slot;
        }
    }
    while (log->blocks[block].live > 0 && log->cursor <= block_bytes(store) - RECORD_HEADER) {
        uint32_t location = location_of(store, block, log->cursor);

        if (read_victim(store, log->cursor, bytes, RECORD_HEADER)) {
            return NOWHERE;
        }
        if (fp_swap_get32(bytes) == NOWHERE) {
            log->cursor += program_bytes(store) - log->cursor % program_bytes(store);
            continue;
        }
        if (!fp_log_parse_record(bytes, &header)) {
            return NOWHERE;
        }
        log->cursor += record_bytes(header.size);
        if (header.slot < store->config->slot_count && store->location[header.slot] == location &&
            has_record(store->size[header.slot])) {
            return header.slot;
        }
    }
    return NOWHERE;
}

/* Returns a slot to move out of the victim, or NOWHERE if there is none or the medium cannot be
 * read. */
static FP_APART uint32_t slot_to_move(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot = log->cursor == NOWHERE ? NOWHERE : next_live(store);

    if (slot == NOWHERE && fp_log_is_alive(store)) {
        /* A byte on the way is wrong. */
        log->cursor = NOWHERE;
        slot = find_live(store);
    }
    return slot;
}

/* Moves one record of the victim, or frees the block. */
static int step(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;

    if (log->blocks[log->victim].live > 0) {
        uint32_t slot = slot_to_move(store);

        if (slot == NOWHERE) {
            return FP_SWAP_IO;
        }
        if (slot < store->config->slot_count) {
            uint32_t location = store->location[slot];
            uint16_t size = store->size[slot];
            uint32_t head = head_of_move(store, slot);
            int error = fp_log_prepare(store, record_bytes(size), &head);

            /* A rescue may have moved the record out of the victim. */
            return error || store->location[slot] != location || store->size[slot] != size
                       ? error
                       : copy_record(store, slot, head);
        }
    }
    log->blocks[log->victim].stamp = log->entries;
    fp_log_set_state(store, log->victim, BLOCK_FREED);
    log->victim = NO_BLOCK;
    return FP_SWAP_OK;
}

/* Returns how many bytes of the victim to move now, for `bytes` that are to be written. */
static uint64_t pace(const struct fp_swap *store, uint32_t bytes)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint64_t live = log->blocks[log->victim].live;
    uint64_t kept = slack(store) + live + bytes;
    uint64_t space = free_bytes(store);
    uint64_t share;

    if (space <= kept || log->zone_free == 0) {
        /* Its first and last records are partly in other blocks, and are moved whole. */
        return live + 2u * (uint64_t)record_bytes((uint16_t)store->config->page_bytes);
    }
    share = FP_DIV64(live * bytes, space - kept);
    return share > bytes ? share : bytes;
}

/* Victims collected in a row to regain a free block, and blocks examined for each. */
#define REGAIN_TRIES 8u
#define REGAIN_LOOKS 16u

/* Most pairs that a commit may write. */
#define REGAIN_PAIRS 4u

/* Returns, of the blocks before `end`, one with the most dead bytes whose `records` or fewer
 * records fit into `room` bytes; or NOWHERE. */
static uint32_t choose_fitting(const struct fp_swap *store, uint32_t end, uint32_t room,
                               uint32_t records)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t looks;
    uint32_t least = 0; /* live bytes of the last block that did not fit, and its number */
    uint32_t after = NOWHERE;

    for (looks = 0; looks < REGAIN_LOOKS; looks++) {
        uint32_t best = NOWHERE;
        uint32_t bytes = 0;
        uint32_t count = 0;
        uint32_t i;

        for (i = 0; i < end; i++) {
            const struct fp_swap_block *b = &log->blocks[i];

            if (state_of(b) == BLOCK_CLOSED && b->live <= room &&
                (after == NOWHERE || b->live > least || (b->live == least && i > after)) &&
                (best == NOWHERE || b->live < log->blocks[best].live)) {
                best = i;
            }
        }
        if (best == NOWHERE) {
            break;
        }
        /* Records that are in two blocks are moved whole. */
        for (i = 0; i < store->config->slot_count; i++) {
            if (lies_in(store, i, best)) {
                bytes += record_bytes(store->size[i]);
                count++;
            }
        }
        if (bytes <= room && count <= records) {
            return best;
        }
        least = log->blocks[best].live;
        after = best;
    }
    return NOWHERE;
}

/* Regains a block that heads may take. After a cut there may be none, because open blocks are closed
 * and their free space is lost until they are collected. Pages that fit into a head are moved there.
 * If none fits, a block of the zone is moved to a free block of those that the next mount needs.
 * Before the commit that block is free, and after it the old one is. */
static int regain_block(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t tries;
    int error = FP_SWAP_OK;

    for (tries = 0; tries < REGAIN_TRIES && usable_blocks(store) == 0; tries++) {
        uint32_t most = 0;
        uint32_t head;
        uint32_t block;

        /* One commit must have all that is moved. */
        if (log->entries > 0 || log->freed > 0) {
            error = fp_log_commit(store, true);
            if (error || usable_blocks(store) > 0) {
                break;
            }
        }
        for (head = 0; head < head_count(store); head++) {
            uint32_t room = head_room(store, head);

            most = room > most ? room : most;
        }
        block = choose_fitting(store, block_count(store), most, NOWHERE);
        if (block == NOWHERE && log->zone_free > 0) {
            log->swapping = true;
            /* The commit must not take any of these blocks either. */
            if (pairs_per_block(store) - log->meta_pairs < REGAIN_PAIRS) {
                error = fp_log_write_pair(store, PLACE_OPEN);
            }
            block = choose_fitting(store, log->zone_end, block_bytes(store) - PREAMBLE_BYTES,
                                   journal_limit(store));
        }
        if (block == NOWHERE || error) {
            break;
        }
        begin(store, block);
        while (!error && log->victim != NO_BLOCK) {
            error = step(store);
        }
        log->swapping = false;
        if (!error) {
            error = fp_log_commit(store, true);
        }
        if (error) {
            break;
        }
    }
    log->swapping = false;
    return error == FP_SWAP_FULL ? FP_SWAP_OK : error;
}

int fp_log_collect(struct fp_swap *store, uint32_t bytes)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t tries = 0;
    int error = FP_SWAP_OK;

    if (usable_blocks(store) == 0 && log->freed == 0 &&
        free_bytes(store) < block_bytes(store)) {
        error = regain_block(store);
    }
    while (!error && tries < block_count(store)) {
        uint64_t quota;

        if (log->victim == NO_BLOCK) {
            /* By turns, and not if space is short, so that urgent victims do not use it all up. */
            bool short_of_room = free_bytes(store) < block_bytes(store) * 3u / 2u;
            uint32_t block = log->urged || short_of_room ? NOWHERE : choose_urgent(store);

            log->urged = block != NOWHERE;
            log->levelling = log->urged && !(log->blocks[block].flags & FLAG_URGENT);
            if (block == NOWHERE) {
                block = choose(store);
            }
            if (block == NOWHERE) {
                break;
            }
            begin(store, block);
        }
        quota = pace(store, bytes) + store->stat.moved_size;
        do {
            error = step(store);
            /* An empty block is free at once: its space may be needed. */
        } while (!error && log->victim != NO_BLOCK &&
                 (store->stat.moved_size < quota || log->blocks[log->victim].live == 0));
        /* More only if there would be no space otherwise. */
        if (log->victim != NO_BLOCK || free_bytes(store) > fp_log_slack(store->config) ||
            (++tries >= FP_LOG_VICTIMS && free_bytes(store) > 2u * block_bytes(store))) {
            break;
        }
    }
    if (error == FP_SWAP_FULL) {
        /* It fits into no head; another victim may. */
        log->victim = NO_BLOCK;
        error = regain_block(store);
    }
    return error;
}

int fp_log_restock_zone(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t tries = fp_log_zone_kept(store);
    int error = FP_SWAP_OK;

    while (!error && log->zone_free < fp_log_zone_kept(store) && tries-- > 0) {
        uint32_t block = choose_victim(store, log->zone_end, true);

        if (block == NOWHERE) {
            break;
        }
        begin(store, block);
        while (!error && log->victim != NO_BLOCK) {
            error = step(store);
        }
        if (!error) {
            error = fp_log_commit(store, true);
        }
    }
    return error == FP_SWAP_FULL ? FP_SWAP_OK : error;
}

int fp_log_idle(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t moves = 4;
    uint32_t head = 0;
    int error;

    if (log->failed) {
        return FP_SWAP_IO;
    }
    error = fp_log_prepare(store, 0, &head);
    if (log->victim == NO_BLOCK && !error) {
        uint32_t block = choose(store);

        if (block == NOWHERE) {
            block = choose_urgent(store);
        }
        /* As long as a block can be regained at little cost. */
        if (block == NOWHERE &&
            free_bytes(store) <= slack(store) + 4u * block_bytes(store)) {
            block = choose_victim(store, block_count(store), false);
            if (block != NOWHERE && log->blocks[block].live > block_bytes(store) / 2u) {
                block = NOWHERE;
            }
        }
        if (block == NOWHERE) {
            return 0;
        }
        begin(store, block);
    }
    while (!error && moves-- > 0 && log->victim != NO_BLOCK) {
        error = step(store);
    }
    return error == FP_SWAP_FULL ? 0 : error ? error : 1;
}
