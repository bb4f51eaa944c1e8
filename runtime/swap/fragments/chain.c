/* The pieces of a record on the medium, each of which links to the next. */
#include "fragments_internal.h"

int fp_chain_read(struct fp_swap *store, uint32_t address, void *data, uint32_t size)
{
    const struct fp_medium *medium = store->config->medium;
    uint8_t *bytes = data;
    uint32_t block = address / medium->block_bytes;
    uint32_t offset = address % medium->block_bytes;

    while (size > 0) {
        uint32_t part = medium->block_bytes - offset;

        part = part < size ? part : size;
        if (medium->read(medium->context, block, offset, bytes, part) < 0) {
            return FP_SWAP_IO;
        }
        bytes += part;
        size -= part;
        offset = 0;
        block++;
    }
    return FP_SWAP_OK;
}

static int program_bytes(struct fp_swap *store, uint32_t address, const void *data, uint32_t size)
{
    const struct fp_medium *medium = store->config->medium;
    const uint8_t *bytes = data;
    uint32_t block = address / medium->block_bytes;
    uint32_t offset = address % medium->block_bytes;

    while (size > 0) {
        uint32_t part = medium->block_bytes - offset;

        part = part < size ? part : size;
        if (medium->program(medium->context, block, offset, bytes, part)) {
            return FP_SWAP_IO;
        }
        store->stat.programmed_size += part;
        bytes += part;
        size -= part;
        offset = 0;
        block++;
    }
    return FP_SWAP_OK;
}

static uint16_t header_check(uint32_t address, uint32_t slot, uint32_t left,
                             const uint8_t *header)
{
    uint32_t check = address * 0x9e3779b1u ^ slot;

    check = (check ^ check >> 15) * 0x85ebca6bu ^ fp_swap_get32(header);
    check = (check ^ check >> 13) * 0xc2b2ae35u ^ left;
    check = (check ^ check >> 16) * 0x27d4eb2fu ^ fp_swap_get16(header + 4);
    check = (check ^ check >> 15) * 0x165667b1u;
    return (uint16_t)(check ^ check >> 16);
}

void fp_chain_begin(const struct fp_swap *store, struct chain *chain, uint32_t slot)
{
    chain->slot = slot;
    chain->next = store->location[slot];
    chain->left = store->size[slot];
    chain->address = NONE;
}

int fp_chain_step(struct fp_swap *store, struct chain *chain)
{
    uint8_t header[FIRST_BYTES];
    uint32_t limit = medium_bytes(store);
    uint32_t length;
    int error;

    if (chain->next == NONE) {
        return FP_SWAP_EMPTY;
    }
    chain->header = chain->address == NONE ? FIRST_BYTES : HEADER_BYTES;
    chain->address = chain->next;
    if (chain->address >= limit || limit - chain->address < chain->header) {
        return FP_SWAP_CORRUPT;
    }
    error = fp_chain_read(store, chain->address, header, chain->header);
    if (error) {
        return error;
    }
    chain->next = fp_swap_get32(header);
    length = fp_swap_get16(header + 4);
    if (fp_swap_get16(header + 6) !=
            header_check(chain->address, chain->slot, chain->left, header) ||
        length <= chain->header || length > limit - chain->address ||
        length - chain->header > chain->left ||
        (length - chain->header == chain->left) != (chain->next == NONE)) {
        return FP_SWAP_CORRUPT;
    }
    if (chain->header == FIRST_BYTES) {
        chain->crc = fp_swap_get32(header + HEADER_BYTES);
    }
    chain->data = length - chain->header;
    chain->left -= chain->data;
    return FP_SWAP_OK;
}

int fp_chain_measure(struct fp_swap *store, uint32_t slot, uint32_t *pieces, uint32_t *bytes)
{
    struct chain chain;
    int error;

    *pieces = 0;
    *bytes = 0;
    fp_chain_begin(store, &chain, slot);
    while ((error = fp_chain_step(store, &chain)) == FP_SWAP_OK) {
        *pieces += 1;
        *bytes += chain.header + chain.data;
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : error;
}

/* What is done with a chain's pieces. */
enum move { CARVE, RELEASE, FORGET };

/* Takes a chain's pieces out of the free space, or returns them to it. After an error only some of
 * them were. */
static int move_chain(struct fp_swap *store, struct chain *chain, enum move move)
{
    int error;

    while ((error = fp_chain_step(store, chain)) == FP_SWAP_OK) {
        uint32_t length = chain->header + chain->data;

        if (move == CARVE ? !fp_chunks_carve(store, chain->address, length)
                          : !fp_chunks_release(store, chain->address, length)) {
            return FP_SWAP_CORRUPT;
        }
        store->of.fragments.used += move == CARVE ? 1u : 0xffffffffu;
        if (move == FORGET) {
            /* The remaining pieces are in none of these blocks, as those are not free yet. */
            fp_chunks_shed(store, chain->address, length);
        }
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : error;
}

int fp_chain_carve(struct fp_swap *store, struct chain *chain)
{
    return move_chain(store, chain, CARVE);
}

int fp_chain_release(struct fp_swap *store, struct chain *chain)
{
    return move_chain(store, chain, RELEASE);
}

int fp_chain_forget(struct fp_swap *store, struct chain *chain)
{
    return move_chain(store, chain, FORGET);
}

void fp_chain_rebuild(struct fp_swap *store)
{
    uint32_t slot = 0;

    fp_chunks_clear(store);
    while (slot < store->config->slot_count) {
        struct chain chain;
        uint32_t pieces;
        uint32_t bytes;

        if (has_pieces(store, slot)) {
            fp_chain_begin(store, &chain, slot);
            if (fp_chain_measure(store, slot, &pieces, &bytes)) {
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
            } else if (store->config->chunk_count - store->of.fragments.used <= pieces ||
                       fp_chain_carve(store, &chain)) {
                /* The chain shares bytes with another one, and some of them are taken by now. */
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
                fp_chunks_clear(store);
                slot = 0;
                continue;
            }
        }
        slot++;
    }
}

int fp_chain_lose(struct fp_swap *store, uint32_t lost)
{
    uint32_t slot;
    uint32_t pieces;
    uint32_t bytes;

    for (slot = 0; slot < store->config->slot_count; slot++) {
        if (slot != lost && has_pieces(store, slot) &&
            fp_chain_measure(store, slot, &pieces, &bytes) == FP_SWAP_IO) {
            return FP_SWAP_IO;
        }
    }
    fp_swap_settle(store, lost, NONE, FP_SWAP_SIZE_LOST);
    fp_chain_rebuild(store);
    return FP_SWAP_OK;
}

int fp_chain_program(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                     const uint8_t *data, const struct room *room)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint8_t header[FIRST_BYTES];
    uint32_t size = FIRST_BYTES;
    uint32_t left = record->size;
    uint32_t node = room->first;

    fp_swap_put32(header + HEADER_BYTES, record->crc);
    for (;;) {
        uint32_t address = node == NONE ? room->address : chunks[node].address;
        uint32_t length = node == NONE ? room->length : chunks[node].length;
        uint32_t next = node == NONE ? NONE : chunks[node].LINK;

        fp_swap_put32(header, node == NONE   ? NONE
                              : next == NONE ? room->address
                                             : chunks[next].address);
        fp_swap_put16(header + 4, (uint16_t)length);
        fp_swap_put16(header + 6, header_check(address, slot, left, header));
        if (program_bytes(store, address, header, size) ||
            program_bytes(store, address + size, data, length - size)) {
            return FP_SWAP_IO;
        }
        if (node == NONE) {
            return FP_SWAP_OK;
        }
        data += length - size;
        left -= length - size;
        size = HEADER_BYTES;
        node = next;
    }
}
