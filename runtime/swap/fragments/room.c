/* Chooses the free chunks for a record. */
#include "fragments_internal.h"

/* Smaller chunks wait for a neighbour, except for data that fits into one whole. From 16 to 256
 * bytes this makes no difference to how much of a medium can be filled. */
#ifndef FP_SWAP_PIECE_BYTES
#define FP_SWAP_PIECE_BYTES 64u
#endif

void fp_room_give_back(struct fp_swap *store, const struct room *room)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = room->first;

    if (room->length > 0) {
        (void)fp_chunks_release(store, room->address, room->length);
    }
    while (node != NONE) {
        uint32_t next = chunks[node].LINK;

        store->of.fragments.free_bytes += chunks[node].length;
        fp_chunks_insert(store, node);
        node = next;
    }
}

bool fp_room_set_aside(struct fp_swap *store, uint32_t size, uint32_t pieces, struct room *room)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t header = FIRST_BYTES;

    room->first = NONE;
    room->last = NONE;
    room->pieces = 1;
    room->length = 0;
    if (store->of.fragments.free_bytes < header + size) {
        return false;
    }
    while (room->pieces <= pieces) {
        uint32_t node = fp_chunks_pick_largest(store);
        uint32_t length = node == NONE ? 0 : chunks[node].length;

        /* On a medium that takes memory as it is written, freed space comes before space that was
         * never used. */
        if ((length < store->config->page_bytes || store->config->medium->release) &&
            length >= header + size) {
            node = fp_chunks_pick_first(store, header + size);
            length = chunks[node].length;
        }
        if (length >= header + size) {
            room->length = header + size;
            room->address = chunks[node].address;
            if (store->of.fragments.from_end) {
                room->address += length - room->length;
            }
            fp_chunks_take(store, node, room->address, room->length);
            return true;
        }
        if (length < FP_SWAP_PIECE_BYTES) {
            break;
        }
        fp_chunks_detach(store, chunks[node].address);
        store->of.fragments.free_bytes -= length;
        chunks[node].LINK = NONE;
        if (room->last == NONE) {
            room->first = node;
        } else {
            chunks[room->last].LINK = node;
        }
        room->last = node;
        room->pieces++;
        size -= length - header;
        header = HEADER_BYTES;
    }
    fp_room_give_back(store, room);
    return false;
}

void fp_room_keep(struct fp_swap *store, const struct room *room, uint32_t bytes)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t limit = medium_bytes(store);
    uint32_t node = room->first;

    while (node != NONE) {
        uint32_t next = chunks[node].LINK;

        fp_chunks_give_node(store, node);
        node = next;
    }
    store->of.fragments.used += room->pieces;
    store->of.fragments.next = room->address;
    if (bytes >= limit - store->of.fragments.turned) {
        store->of.fragments.turned = 0;
        store->of.fragments.from_end = !store->of.fragments.from_end;
    } else {
        store->of.fragments.turned += bytes;
    }
}
