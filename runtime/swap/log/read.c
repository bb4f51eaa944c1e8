/* Reads records, from the medium or from the heads. */
#include "log_internal.h"

#include <string.h>

int fp_log_read_medium(struct fp_swap *store, uint32_t block, uint32_t offset, void *data,
                       uint32_t size)
{
    const struct fp_medium *medium = store->config->medium;
    uint32_t tries;

    for (tries = 0; tries < READ_TRIES; tries++) {
        int result = medium->read(medium->context, block, offset, data, size);

        if (result >= 0) {
            if (result > 0) {
                fp_log_mark_urgent(store, block, 0);
            }
            return FP_SWAP_OK;
        }
    }
    return FP_SWAP_IO;
}

bool fp_log_is_alive(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint8_t bytes[4];

    return !fp_log_read_medium(store, log->meta, 0, bytes, sizeof(bytes)) ||
           !fp_log_read_medium(store, log->meta, program_bytes(store), bytes, sizeof(bytes));
}

int fp_log_read(struct fp_swap *store, uint32_t block, uint32_t offset, uint8_t *data,
                uint32_t size)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t age;

    for (age = 0; age < head_count(store); age++) {
        const struct fp_swap_log_head *head = &log->heads[age];
        uint32_t programmed = head->pages * program_bytes(store);
        uint32_t before;

        if (head->block != block || offset + size <= programmed) {
            continue;
        }
        before = offset < programmed ? programmed - offset : 0;
        memcpy(data + before, head->page + (offset + before - programmed), size - before);
        size = before;
    }
    return size > 0 ? fp_log_read_medium(store, block, offset, data, size) : FP_SWAP_OK;
}

int fp_log_read_record(struct fp_swap *store, uint32_t location, uint32_t at, uint8_t *data,
                       uint32_t size)
{
    uint32_t block = block_of(store, location);
    uint32_t offset = offset_of(store, location) + at;
    uint32_t first;
    int error = FP_SWAP_OK;

    if (offset >= block_bytes(store)) {
        offset -= block_bytes(store) - PREAMBLE_BYTES;
        block = store->of.log.blocks[block].next;
    }
    if (block >= block_count(store)) {
        return FP_SWAP_CORRUPT;
    }
    first = block_bytes(store) - offset < size ? block_bytes(store) - offset : size;
    error = fp_log_read(store, block, offset, data, first);
    return error || first == size
               ? error
               : fp_log_read_record(store, location, at + first, data + first, size - first);
}

int fp_log_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record)
{
    uint8_t bytes[RECORD_HEADER];
    struct record_header header;
    int error;

    record->size = store->size[slot];
    record->word = store->location[slot];
    record->crc = 0;
    if (record->size == FP_SWAP_SIZE_SAME) {
        return FP_SWAP_OK;
    }
    if (store->of.log.failed) {
        return FP_SWAP_IO;
    }
    error = fp_log_read_record(store, store->location[slot], 0, bytes, RECORD_HEADER);
    if (error) {
        return error;
    }
    if (!fp_log_parse_record(bytes, &header) || header.slot != slot ||
        header.size != record->size) {
        return FP_SWAP_CORRUPT;
    }
    record->crc = header.crc;
    return FP_SWAP_OK;
}

int fp_log_fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data)
{
    return fp_log_read_record(store, store->location[slot], RECORD_HEADER, data, record->size);
}
