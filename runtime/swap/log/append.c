/* Writing: records go into the page being filled, and full pages onto the medium. */
#include "log_internal.h"

#include <string.h>

void fp_log_begin_page(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t base = log->page == 0 ? HEADER_BYTES : 0;
    uint32_t names = NAME_BYTES * log->names;

    memmove(log->head + base, log->head + program_bytes(store) - names, names);
    log->fill = base + names;
    log->count = 0;
    log->carried = 0;
    log->carrier = NOWHERE;
}

void fp_log_keep_names(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct directory directory = fp_log_head_directory(store);
    uint32_t index;

    for (index = 0; index < log->count; index++) {
        struct entry entry = fp_log_get_entry(store, &directory, index);

        fp_swap_put32(log->head + program_bytes(store) - NAME_BYTES * (index + 1u), entry.slot);
    }
    log->names = log->count;
    log->skipped = 0;
}

int fp_log_program_head(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    struct directory directory = fp_log_head_directory(store);
    uint32_t end = payload_end(store, &directory);

    memset(log->head + log->fill, 0xff, end - log->fill);
    fp_log_encode_trailer(store);
    if (medium->program(medium->context, log->block, log->page * program_bytes(store), log->head,
                        program_bytes(store)) < 0) {
        return PROGRAM_FAILED;
    }
    store->stat.programmed_size += program_bytes(store);
    fp_log_keep_names(store);
    log->page++;
    if (log->page < pages_per_block(store)) {
        fp_log_begin_page(store);
    }
    return FP_SWAP_OK;
}

static bool is_head_dirty(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    return log->block != NOWHERE && log->page < pages_per_block(store) &&
           (log->count > 0 || log->carried > 0);
}

int fp_log_sync(struct fp_swap *store)
{
    int error = FP_SWAP_OK;

    while (!error && is_head_dirty(store)) {
        error = fp_log_program_head(store);
        if (error == PROGRAM_FAILED) {
            error = fp_log_rescue_head(store);
        }
    }
    return error;
}

/* Write a record to the head, from its beginning. PROGRAM_FAILED: a program failed, and head
 * is still there. */
static int try_append(struct fp_swap *store, uint32_t slot, const struct entry *entry,
                      struct source source, uint32_t *where)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t left = entry->stored;
    bool carried = false;
    struct directory directory;
    int error;

    for (;;) {
        if (log->block == NOWHERE || log->page == pages_per_block(store)) {
            error = fp_log_open_block(store);
            if (error) {
                return error;
            }
        }
        directory = fp_log_head_directory(store);
        directory.count++;
        if (log->page + 1u == pages_per_block(store) ||
            directory.count > entries_per_page(store) ||
            log->fill > payload_end(store, &directory)) {
            error = fp_log_program_head(store);
        } else if (log->page + fp_log_pages_spanned(store, &directory, log->fill, left) <=
                   pages_per_block(store)) {
            break;
        } else if (is_head_dirty(store) || log->names > 0) {
            error = fp_log_program_head(store);
        } else {
            error = fp_log_open_block(store);
        }
        if (error) {
            return error;
        }
    }
    fp_log_encode_entry(log->head + payload_end(store, &directory), slot, entry);
    *where = where_of(store, head_page(store), log->count);
    log->count++;
    while (left > 0) {
        uint32_t room;
        uint32_t n;

        directory = fp_log_head_directory(store);
        room = payload_end(store, &directory) - log->fill;
        if (room == 0) {
            error = fp_log_program_head(store);
            if (error) {
                return error;
            }
            log->carrier = slot;
            log->carrier_at = *where;
            carried = true;
            continue;
        }
        n = left < room ? left : room;
        (void)fp_log_read_source(store, &source, log->head + log->fill, n);
        log->fill += n;
        log->carried = (uint16_t)(log->carried + (carried ? n : 0u));
        left -= n;
    }
    return FP_SWAP_OK;
}

int fp_log_append(struct fp_swap *store, uint32_t slot, const struct entry *entry,
                  const struct source *source, uint32_t *where)
{
    int error;

    while ((error = try_append(store, slot, entry, *source, where)) == PROGRAM_FAILED &&
           !store->of.log.rescuing) {
        error = fp_log_rescue_head(store);
        if (error) {
            break;
        }
    }
    return error;
}

int fp_log_move_record(struct fp_swap *store, uint32_t where, const struct directory *directory,
                       uint32_t offset, const struct entry *entry)
{
    struct entry copy = *entry;
    struct source source;
    uint32_t to;
    int error;

    if (store->size[copy.slot] == FP_SWAP_SIZE_LOST || copy.size != store->size[copy.slot] ||
        page_of(store, where) % pages_per_block(store) +
                fp_log_pages_spanned(store, directory, offset, copy.stored) >
            pages_per_block(store)) {
        copy.size = FP_SWAP_SIZE_LOST;
        copy.stored = 0;
    }
    source.data = NULL;
    source.page = page_of(store, where);
    source.offset = offset;
    source.end = payload_end(store, directory);
    source.base = NAME_BYTES * directory->count;
    error = fp_log_append(store, copy.slot, &copy, &source, &to);
    if (!error) {
        fp_log_set_record(store, copy.slot, to, copy.size);
        store->stat.moved_size += copy.stored;
    }
    return error;
}

int fp_log_append_lost(struct fp_swap *store, uint32_t slot)
{
    struct source nothing = {NULL, 0, 0, 0, 0};
    struct entry entry = {0, 0, FP_SWAP_SIZE_LOST, 0};
    uint32_t where;
    int error;

    if (store->size[slot] == FP_SWAP_SIZE_NONE) {
        entry.size = FP_SWAP_SIZE_NONE;
    }
    error = fp_log_append(store, slot, &entry, &nothing, &where);
    if (!error) {
        fp_log_set_record(store, slot, where, entry.size);
    }
    return error;
}
