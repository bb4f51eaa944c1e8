/* Reading pages and records, from the medium or from the page being filled. */
#include "log_internal.h"

#include <string.h>

int fp_log_read(struct fp_swap *store, uint32_t page, uint32_t offset, uint8_t *data,
                uint32_t size)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block = page / pages_per_block(store);
    int result;

    if (page == head_page(store)) {
        memcpy(data, log->head + offset, size);
        return FP_SWAP_OK;
    }
    if (page == log->cached) {
        memcpy(data, log->cache + offset, size);
        return FP_SWAP_OK;
    }
    result =
        medium->read(medium->context, block,
                     page % pages_per_block(store) * program_bytes(store) + offset, data, size);
    if (result > 0) {
        fp_log_mark_urgent(store, block, 0);
    }
    return result < 0 ? FP_SWAP_IO : FP_SWAP_OK;
}

int fp_log_load_page(struct fp_swap *store, uint32_t page, struct directory *directory)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error;

    if (log->cached != page) {
        log->cached = NOWHERE;
        error = fp_log_read(store, page, 0, log->cache, program_bytes(store));
        if (error) {
            return FP_SWAP_CORRUPT;
        }
        log->cached = page;
    }
    *directory = fp_log_page_directory(store, log->cache, page);
    return fp_log_is_directory(store, directory, page) ? FP_SWAP_OK : FP_SWAP_CORRUPT;
}

int fp_log_load_current_page(struct fp_swap *store, uint32_t page, struct directory *directory)
{
    const struct fp_swap_block *block = &store->of.log.blocks[page / pages_per_block(store)];
    int error = fp_log_load_page(store, page, directory);

    if (!error && (page_sequence(store, directory) != block->sequence ||
                   page_epoch(store, directory) != (uint16_t)store->of.log.epoch)) {
        error = FP_SWAP_CORRUPT;
    }
    return error;
}

bool fp_log_read_header(struct fp_swap *store, uint32_t block, struct block_header *header)
{
    uint8_t bytes[HEADER_BYTES];

    return !fp_log_read(store, block * pages_per_block(store), 0, bytes, HEADER_BYTES) &&
           fp_log_parse_header(store, bytes, header);
}

int fp_log_read_source(struct fp_swap *store, struct source *source, uint8_t *data, uint32_t size)
{
    int result = FP_SWAP_OK;

    if (source->data) {
        memcpy(data, source->data, size);
        source->data += size;
        return FP_SWAP_OK;
    }
    while (size > 0) {
        uint32_t n = source->end - source->offset;
        int error;

        if (n == 0) {
            source->page++;
            source->offset = source->base;
            source->end = program_bytes(store) - TRAILER_BYTES;
            source->base = 0;
            continue;
        }
        n = n < size ? n : size;
        error = fp_log_read(store, source->page, source->offset, data, n);
        if (error) {
            memset(data, 0, n);
            result = error;
        }
        source->offset += n;
        data += n;
        size -= n;
    }
    return result;
}

bool fp_log_is_blank(struct fp_swap *store, uint32_t page)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    log->cached = NOWHERE;
    if (fp_log_read(store, page, 0, log->cache, program_bytes(store))) {
        return false;
    }
    for (i = 0; i < program_bytes(store); i++) {
        if (log->cache[i] != 0xff) {
            return false;
        }
    }
    return true;
}

/* The bytes of the record that fp_log_find() found. */
static int read_found(struct fp_swap *store, uint8_t *data, uint32_t size)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct source source;

    source.data = NULL;
    source.page = log->found_page;
    source.offset = log->found_offset;
    source.end = log->found_end;
    source.base = log->found_base;
    return fp_log_read_source(store, &source, data, size);
}

int fp_log_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page = page_of(store, store->where[slot]);
    uint32_t index = store->where[slot] % entries_per_page(store);
    struct directory directory;
    struct entry entry;
    int error;

    if (page == head_page(store)) {
        directory = fp_log_head_directory(store);
    } else {
        uint32_t tail = TRAILER_BYTES + ENTRY_BYTES * (index + 1u);

        if (page != log->cached) {
            /* A part of a page only: it is not cached. */
            log->cached = NOWHERE;
            error = fp_log_read(store, page, program_bytes(store) - tail,
                                log->cache + program_bytes(store) - tail, tail);
            if (error) {
                return error;
            }
        }
        directory = fp_log_page_directory(store, log->cache, page);
    }
    if (index >= directory.count || directory.count > entries_per_page(store) ||
        directory.names > entries_per_page(store)) {
        return FP_SWAP_CORRUPT;
    }
    entry = fp_log_get_entry(store, &directory, index);
    log->found_page = page;
    log->found_offset = fp_log_record_offset(store, &directory, index);
    log->found_end = payload_end(store, &directory);
    log->found_base = NAME_BYTES * directory.count;
    if (entry.slot != slot || entry.size != store->size[slot] ||
        entry.stored != payload_bytes(entry.size) || log->found_offset > log->found_end ||
        page % pages_per_block(store) +
                fp_log_pages_spanned(store, &directory, log->found_offset, entry.stored) >
            pages_per_block(store)) {
        return FP_SWAP_CORRUPT;
    }
    record->size = entry.size;
    record->crc = entry.crc;
    record->word = 0;
    if (entry.size == FP_SWAP_SIZE_SAME) {
        uint8_t word[4];

        error = read_found(store, word, sizeof(word));
        if (error) {
            return error;
        }
        if (fp_swap_record_crc(store, slot, entry.size, word) != entry.crc) {
            return FP_SWAP_CORRUPT;
        }
        record->word = fp_swap_get32(word);
    }
    return FP_SWAP_OK;
}

int fp_log_fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data)
{
    (void)slot;
    return read_found(store, data, record->size);
}
