/* What happens when the page being filled cannot be programmed. */
#include "log_internal.h"

#include <string.h>

int fp_log_rewrite_record(struct fp_swap *store, uint32_t slot, uint32_t where)
{
    uint32_t page = page_of(store, where);
    uint32_t index = where % entries_per_page(store);
    struct fp_swap_log_state *log = &store->of.log;
    uint8_t tail[TRAILER_BYTES];
    struct directory directory;
    struct entry entry;
    uint32_t offset;
    uint32_t i;

    if (store->where[slot] != where) {
        return FP_SWAP_OK;
    }
    if (store->size[slot] == FP_SWAP_SIZE_LOST) {
        return fp_log_append_lost(store, slot);
    }
    if (page == log->cached) {
        directory = fp_log_page_directory(store, log->cache, page);
        if (index >= directory.count || directory.count > entries_per_page(store)) {
            return fp_log_append_lost(store, slot);
        }
        entry = fp_log_get_entry(store, &directory, index);
        offset = fp_log_record_offset(store, &directory, index);
        return entry.slot == slot && offset <= payload_end(store, &directory)
                   ? fp_log_move_record(store, where, &directory, offset, &entry)
                   : fp_log_append_lost(store, slot);
    }
    /* The cache must stay: go through the page's entries one by one. */
    if (fp_log_read(store, page, program_bytes(store) - TRAILER_BYTES, tail, TRAILER_BYTES)) {
        return FP_SWAP_IO;
    }
    directory = fp_log_parse_trailer(store, NULL, tail, page);
    offset = payload_begin(&directory) + directory.carried;
    for (i = 0;; i++) {
        if (fp_log_read(store, page,
                        program_bytes(store) - TRAILER_BYTES - ENTRY_BYTES * (i + 1u), tail,
                        ENTRY_BYTES)) {
            return FP_SWAP_IO;
        }
        entry = fp_log_parse_entry(tail);
        if (i == index) {
            break;
        }
        offset += entry.stored;
    }
    if (index >= directory.count || directory.count > entries_per_page(store) ||
        entry.slot != slot || offset > payload_end(store, &directory)) {
        /* A wrong byte among them: reading will say so. */
        return fp_log_append_lost(store, slot);
    }
    return fp_log_move_record(store, where, &directory, offset, &entry);
}

/* The head's block takes no more. */
static void retire_head_block(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;

    if (log->blocks[log->block].state == BLOCK_HEAD) {
        log->blocks[log->block].state = BLOCK_CLOSED;
        log->blocks[log->block].pages = (uint16_t)log->page;
        fp_log_mark_urgent(store, log->block, FLAG_RETIRED);
    }
}

/* There is no block left for what was in a page that could not be programmed. */
static void give_up_page(struct fp_swap *store, uint32_t page, const struct directory *directory,
                         uint32_t carrier, uint32_t carrier_at)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t index;

    for (index = 0; index < directory->count; index++) {
        uint32_t slot = fp_log_get_entry(store, directory, index).slot;

        if (store->where[slot] == where_of(store, page, index)) {
            fp_log_set_record(store, slot, NOWHERE, FP_SWAP_SIZE_LOST);
        }
    }
    if (carrier != NOWHERE && store->where[carrier] == carrier_at) {
        fp_log_set_record(store, carrier, NOWHERE, FP_SWAP_SIZE_LOST);
    }
    retire_head_block(store);
    if (log->page > 0) {
        log->last_pages = (uint16_t)log->page;
        log->last_block = log->block;
        log->last_sequence = log->blocks[log->block].sequence;
    }
    log->block = NOWHERE;
    log->page = 0;
}

int fp_log_rescue_head(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page = head_page(store);
    uint32_t carrier = log->carrier;
    uint32_t carrier_at = log->carrier_at;
    struct directory directory = fp_log_head_directory(store);
    struct directory failed;
    uint32_t index;
    int error;

    memcpy(log->cache, log->head, program_bytes(store));
    directory.page = log->cache;
    log->cached = page;
    log->rescuing = true;
    do {
        retire_head_block(store);
        /* Of the last page that was programmed. */
        log->names = directory.names;
        log->skipped = directory.skipped;
        memcpy(log->head + program_bytes(store) - NAME_BYTES * directory.names,
               directory.page + directory.base, (size_t)(NAME_BYTES * directory.names));
        error = fp_log_open_block(store);
        if (!error && carrier != NOWHERE) {
            error = fp_log_rewrite_record(store, carrier, carrier_at);
        }
        for (index = 0; index < directory.count && !error; index++) {
            error = fp_log_rewrite_record(store, fp_log_get_entry(store, &directory, index).slot,
                                          where_of(store, page, index));
        }
        if (error != PROGRAM_FAILED) {
            break;
        }
        /* This one failed, too. What it holds in head stands in the first page still. */
        failed = fp_log_head_directory(store);
        for (index = 0; index < (uint32_t)failed.count + 1u; index++) {
            uint32_t slot = index < failed.count ? fp_log_get_entry(store, &failed, index).slot
                                                 : log->carrier;
            uint32_t where =
                index < failed.count ? where_of(store, head_page(store), index) : log->carrier_at;
            uint32_t from = slot == carrier ? carrier_at : NOWHERE;
            uint32_t i;

            if (slot == NOWHERE || store->where[slot] != where) {
                continue;
            }
            for (i = 0; i < directory.count; i++) {
                if (fp_log_get_entry(store, &directory, i).slot == slot) {
                    from = where_of(store, page, i);
                }
            }
            fp_log_set_record(store, slot, from, store->size[slot]);
        }
    } while (error == PROGRAM_FAILED);
    log->rescuing = false;
    log->cached = NOWHERE;
    if (error) {
        give_up_page(store, page, &directory, carrier, carrier_at);
    }
    return error;
}
