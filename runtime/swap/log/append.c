/* Writing: records go to a head, and its full pages to the medium. */
#include "log_internal.h"

#include <string.h>

static uint32_t tell(const struct fp_swap *store, const struct fp_swap_log_head *head)
{
    return head->pages * program_bytes(store) + head->fill;
}

static int program_page(struct fp_swap *store, struct fp_swap_log_head *head)
{
    const struct fp_medium *medium = store->config->medium;

    if (medium->program(medium->context, head->block, head->pages * program_bytes(store),
                        head->page, program_bytes(store)) < 0) {
        return PROGRAM_FAILED;
    }
    store->stat.programmed_size += program_bytes(store);
    head->pages++;
    head->fill = 0;
    if (head->pages == pages_per_block(store)) {
        fp_log_set_state(store, head->block, BLOCK_CLOSED);
    }
    return FP_SWAP_OK;
}

/* Goes on in a new block. */
static FP_APART int open_block(struct fp_swap *store, uint32_t age)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_log_head *head = &log->heads[age];
    struct fp_swap_block *b;
    uint16_t block;
    int error = fp_log_take_block(store, age, &block);

    if (error) {
        return error;
    }
    b = &log->blocks[block];
    fp_log_set_state(store, block, BLOCK_OPEN);
    b->state_age = (uint8_t)(BLOCK_OPEN | age << 4);
    b->flags &= FLAG_UNSAVED;
    b->live = 0;
    b->stamp = log->clock;
    b->next = NO_BLOCK;
    head->before = NO_BLOCK;
    head->block = block;
    head->pages = 0;
    fp_swap_put32(head->page, NOWHERE);
    fp_swap_put32(head->page + 4, 0);
    fp_swap_put32(head->page + 8, 0);
    head->fill = PREAMBLE_BYTES;
    head->begun = PREAMBLE_BYTES;
    head->record = PREAMBLE_BYTES;
    return FP_SWAP_OK;
}

/* Goes on in a new block, to which `carried` bytes of the head's last record continue. */
static int carry_on(struct fp_swap *store, uint32_t age, uint32_t carried, uint32_t slot)
{
    struct fp_swap_log_head *head = &store->of.log.heads[age];
    uint16_t before = head->block;
    int error = open_block(store, age);

    if (error) {
        return error;
    }
    head->before = before;
    store->of.log.blocks[before].next = head->block;
    fp_log_mark_unsaved(store, before);
    fp_swap_put32(head->page, slot);
    fp_swap_put32(head->page + 4, head->location);
    fp_swap_put32(head->page + 8, carried);
    head->begun = 0;
    head->record = 0;
    return FP_SWAP_OK;
}

/* Applies entries about the bytes with which the failed head began, and those after them, to the
 * bytes at `at` of the head's block. They are lost if that is NO_BLOCK. */
static FP_APART void move_journal(struct fp_swap *store, const struct fp_swap_log_head *head,
                                  uint32_t at)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block = log->failed_head.block;
    uint32_t from = log->failed_head.begun;
    uint32_t i;

    for (i = 0; i < log->entries; i++) {
        uint8_t *bytes = log->journal + ENTRY_BYTES * i;
        struct entry entry = fp_log_parse_entry(bytes);
        struct entry moved = entry;
        uint32_t slot = entry.key & KEY_SLOT;
        uint32_t offset = offset_of(store, entry.value);

        if (!has_record(entry.extra)) {
            continue;
        }
        if (head->block == NO_BLOCK) {
            if (block_of(store, entry.value) != block
                    ? log->blocks[block_of(store, entry.value)].next != block ||
                          bytes_in_first(store, entry.value, entry.extra) ==
                              record_bytes(entry.extra) || from > 0
                    : offset < from) {
                continue;
            }
            moved.value = NOWHERE;
            moved.extra = FP_SWAP_SIZE_LOST;
        } else if (block_of(store, entry.value) == block && offset >= from) {
            moved.value = location_of(store, head->block, offset - from + at);
        } else {
            continue;
        }
        if (store->location[slot] == entry.value && store->size[slot] == entry.extra) {
            fp_log_set_record(store, slot, moved.value, moved.extra);
        }
        fp_log_encode_entry(bytes, &moved);
    }
}

/* Copies bytes of a block, the last of which are in log->page, to the head. */
static FP_APART int copy_bytes(struct fp_swap *store, struct fp_swap_log_head *head,
                               const struct fp_swap_log_head *from)
{
    uint32_t programmed = from->pages * program_bytes(store);
    uint32_t offset = from->begun;
    uint32_t end = tell(store, from);

    while (offset < end) {
        uint32_t room = program_bytes(store) - head->fill;
        uint32_t n = (offset < programmed ? programmed : end) - offset;
        uint8_t *to = head->page + head->fill;

        n = n < room ? n : room;
        if (offset >= programmed) {
            memcpy(to, store->of.log.page + (offset - programmed), n);
        } else if (fp_log_read_medium(store, from->block, offset, to, n)) {
            memset(to, 0, n); /* The record's CRC will show it. */
        }
        offset += n;
        head->fill += n;
        if (head->fill == program_bytes(store) && program_page(store, head)) {
            return PROGRAM_FAILED;
        }
    }
    return FP_SWAP_OK;
}

/* The record that continued in a block continues in the head's block. */
static FP_APART void follow_carried(struct fp_swap *store, struct fp_swap_log_head *head,
                                    const struct fp_swap_log_head *old)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot;
    uint32_t location;

    if (old->pages > 0 &&
        fp_log_read_medium(store, old->block, 0, log->page, PREAMBLE_BYTES)) {
        memset(log->page, 0xff, PREAMBLE_BYTES);
    }
    slot = fp_swap_get32(log->page);
    location = fp_swap_get32(log->page + 4);
    if (slot < store->config->slot_count && has_record(store->size[slot]) &&
        store->location[slot] == location) {
        uint32_t bytes =
            record_bytes(store->size[slot]) - bytes_in_first(store, location, store->size[slot]);

        log->blocks[old->block].live -= bytes;
        log->blocks[head->block].live += bytes;
    }
    log->blocks[old->before].next = head->block;
    fp_log_mark_unsaved(store, old->before);
    head->before = old->before;
}

/* The page of a head could not be programmed: everything that begins or continues in its block is
 * written to another one. None of it has been committed. */
static FP_APART int rescue_page(struct fp_swap *store, uint32_t age)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_log_head *head = &log->heads[age];
    struct fp_swap_log_head *old = &log->failed_head;
    uint32_t at = head->begun == 0 ? 0 : PREAMBLE_BYTES;
    int error;

    *old = *head;
    log->cached = NOWHERE;
    log->rescuing = true;
    memcpy(log->page, head->page, old->fill);
    do {
        fp_log_set_state(store, head->block, BLOCK_CLOSED);
        fp_log_mark_urgent(store, head->block, FLAG_RETIRED);
        head->block = NO_BLOCK;
        error = open_block(store, age);
        if (!error) {
            head->fill = at;
            error = copy_bytes(store, head, old);
        }
    } while (error == PROGRAM_FAILED);
    log->rescuing = false;
    if (error) {
        head->block = NO_BLOCK;
        head->fill = 0;
        move_journal(store, head, 0);
        return error;
    }
    if (old->begun == 0 && old->before != NO_BLOCK &&
        log->blocks[old->before].next == old->block) {
        follow_carried(store, head, old);
    }
    head->begun = at;
    if (old->record >= old->begun && old->record > 0) {
        head->record = old->record - old->begun + at;
        head->location = location_of(store, head->block, head->record);
    } else {
        head->record = 0;
    }
    move_journal(store, head, at);
    return FP_SWAP_OK;
}

int fp_log_flush(struct fp_swap *store, uint32_t age)
{
    struct fp_swap_log_head *head = &store->of.log.heads[age];
    int error = FP_SWAP_OK;

    while (!error && head->block != NO_BLOCK && head->fill > 0) {
        memset(head->page + head->fill, 0xff, program_bytes(store) - head->fill);
        if (program_page(store, head)) {
            error = rescue_page(store, age);
        }
    }
    return error;
}

int fp_log_append(struct fp_swap *store, uint32_t age, uint32_t slot, struct source *source,
                  uint32_t size)
{
    struct fp_swap_log_head *head = &store->of.log.heads[age];
    uint32_t from = store->location[slot];
    uint32_t at = 0;
    int error = FP_SWAP_OK;

    if (head->block != NO_BLOCK && head->pages < pages_per_block(store) &&
        block_bytes(store) - tell(store, head) < RECORD_HEADER) {
        error = fp_log_flush(store, age);
    }
    if (!error && (head->block == NO_BLOCK || head->pages == pages_per_block(store))) {
        error = open_block(store, age);
    }
    if (error) {
        return error;
    }
    head->record = tell(store, head);
    head->begun = head->fill == 0 ? head->record : head->begun;
    head->location = location_of(store, head->block, head->record);
    while (at < size) {
        uint32_t n;
        uint8_t *to;

        if (head->pages == pages_per_block(store)) {
            error = carry_on(store, age, size - at, slot);
            if (error) {
                return error;
            }
        }
        n = program_bytes(store) - head->fill;
        n = n < size - at ? n : size - at;
        to = head->page + head->fill;
        if (!source) {
            if (fp_log_read_record(store, from, at, to, n)) {
                memset(to, 0, n);
                store->of.log.unreadable = true;
            }
        } else if (at < RECORD_HEADER) {
            n = n < RECORD_HEADER - at ? n : RECORD_HEADER - at;
            memcpy(to, source->header + at, n);
        } else {
            /* Up to the next multiple of four. */
            uint32_t left = source->left < n ? source->left : n;

            memcpy(to, source->data, left);
            memset(to + left, 0xff, n - left);
            source->data += left;
            source->left -= left;
        }
        head->fill += n;
        at += n;
        if (head->fill == program_bytes(store)) {
            if (program_page(store, head)) {
                error = rescue_page(store, age);
                if (error) {
                    return error;
                }
            }
            if (head->fill == 0 && at < size) {
                head->begun = head->record;
            }
        }
    }
    return FP_SWAP_OK;
}

uint32_t fp_log_pending_in(const struct fp_swap *store, uint32_t location, uint16_t size)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t block = block_of(store, location);
    uint32_t first = bytes_in_first(store, location, size);
    uint32_t age;

    for (age = 0; age < head_count(store); age++) {
        const struct fp_swap_log_head *head = &log->heads[age];
        uint32_t programmed = head->pages * program_bytes(store);

        if (head->fill == 0 || head->block == NO_BLOCK) {
            continue;
        }
        if ((head->block == block && offset_of(store, location) + first > programmed) ||
            (first < record_bytes(size) && log->blocks[block].next == head->block &&
             PREAMBLE_BYTES + record_bytes(size) - first > programmed)) {
            return age;
        }
    }
    return FP_SWAP_LOG_HEADS;
}
