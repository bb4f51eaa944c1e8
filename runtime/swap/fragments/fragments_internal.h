/*
 * Fragments: compressed pages on a medium that rewrites in place (MTDCOMPR, "Data
 * flow"). Where the medium is free stands in memory only.
 *
 *     chunks.c     the free chunks, in a tree
 *     chain.c      the pieces of a record on the medium
 *     room.c       which free chunks a record gets
 *     fragments.c  the calls of the front
 *
 * The medium is one row of bytes, cut into *pieces* and free *chunks*. A page's record is a
 * *chain* of pieces, each with a header before its data:
 *
 *     next     4  address of the next piece; FP_SWAP_NOWHERE in the last
 *     length   2  bytes of the piece, header and all
 *     check    2  over all of this, the address, the slot and the bytes still to come
 *     crc      4  of the record; in the first piece only
 *
 * location[] is the address of the first piece, or the word of a same-filled page, which
 * takes nothing of the medium.
 *
 * Free chunks never touch each other, so there is at most one more of them than of
 * pieces: with fewer pieces than config->chunk_count the nodes suffice, always.
 */
#ifndef FLASHPAGER_SWAP_FRAGMENTS_INTERNAL_H
#define FLASHPAGER_SWAP_FRAGMENTS_INTERNAL_H

#include "../swap_internal.h"

#define NONE FP_SWAP_NOWHERE
#define HEADER_BYTES 8u
#define FIRST_BYTES 12u /* bytes of the first piece's header */

/* A free chunk: a node of a treap ordered by address. */
struct fp_swap_chunk {
    uint32_t address;
    uint32_t length;
    uint32_t child[2]; /* of lower addresses, and of higher ones */
    uint32_t largest;  /* longest chunk in this subtree */
};

/* Links nodes that are in no tree. */
#define LINK child[0]

/* A walk along a slot's pieces. */
struct chain {
    uint32_t slot;
    uint32_t next;    /* address of the next piece; NONE after the last */
    uint32_t left;    /* bytes of data that follow */
    uint32_t address; /* of the piece */
    uint32_t data;    /* its bytes of data, */
    uint32_t header;  /* of header */
    uint32_t crc;     /* CRC of the record, from the first piece */
};

/* Reserved free chunks: whole ones, linked in the order of the chain, and then the start or the end
 * of another. */
struct room {
    uint32_t first; /* nodes, out of the tree */
    uint32_t last;
    uint32_t pieces;
    uint32_t address; /* of the last piece */
    uint32_t length;
};

static inline uint32_t medium_bytes(const struct fp_swap *store)
{
    return store->config->medium->block_bytes * store->config->medium->block_count;
}

/* Returns true if a slot has pieces on the medium. */
static inline bool has_pieces(const struct fp_swap *store, uint32_t slot)
{
    return store->size[slot] != FP_SWAP_SIZE_NONE && store->size[slot] != FP_SWAP_SIZE_SAME &&
           store->size[slot] != FP_SWAP_SIZE_LOST;
}

/* Returns the bytes of the largest chunk in a subtree. */
static inline uint32_t largest_in(const struct fp_swap_chunk *chunks, uint32_t node)
{
    return node == NONE ? 0 : chunks[node].largest;
}

/* chunks.c */

/* Makes the whole medium one free chunk. */
void fp_chunks_clear(struct fp_swap *store);

/* Frees a range. Returns false, with nothing done, if some of it is free already. */
bool fp_chunks_release(struct fp_swap *store, uint32_t address, uint32_t length);

/* Takes a range out of the free space. Returns false, with nothing done, if not all of it is free.
 */
bool fp_chunks_carve(struct fp_swap *store, uint32_t address, uint32_t length);

/* Releases blocks of the medium that are empty now that this range is free. */
void fp_chunks_shed(struct fp_swap *store, uint32_t address, uint32_t length);

/* Takes a range out of the chunk that contains it. */
void fp_chunks_take(struct fp_swap *store, uint32_t node, uint32_t address, uint32_t length);

/* Returns one of the largest chunks: the first after the last write, so that those of equal size
 * take turns. NONE if there is none. */
uint32_t fp_chunks_pick_largest(const struct fp_swap *store);

/* Returns the first chunk of at least `size` bytes, or NONE. */
uint32_t fp_chunks_pick_first(const struct fp_swap *store, uint32_t size);

/* Takes the node at `address` out of the tree, or puts one in; free_bytes does not change. */
void fp_chunks_detach(struct fp_swap *store, uint32_t address);
void fp_chunks_insert(struct fp_swap *store, uint32_t node);

/* Returns a node that is in no tree to the unused ones. */
void fp_chunks_give_node(struct fp_swap *store, uint32_t node);

/* Returns what is wrong with the tree, or NULL. */
const char *fp_chunks_check(struct fp_swap *store);

/* chain.c */

/* Reads bytes of the medium, across blocks. */
int fp_chain_read(struct fp_swap *store, uint32_t address, void *data, uint32_t size);

/* Begins a walk along a slot's pieces. */
void fp_chain_begin(const struct fp_swap *store, struct chain *chain, uint32_t slot);

/* Steps to the next piece. Returns FP_SWAP_EMPTY after the last, and FP_SWAP_CORRUPT if its header
 * is wrong. A chain that ends has all its data, and no byte outside the medium. */
int fp_chain_step(struct fp_swap *store, struct chain *chain);

/* Walks a chain and counts the bytes that it takes. */
int fp_chain_measure(struct fp_swap *store, uint32_t slot, uint32_t *pieces, uint32_t *bytes);

/* Takes a chain's pieces out of the free space, or returns them to it. After an error only some of
 * them were. */
int fp_chain_carve(struct fp_swap *store, struct chain *chain);
int fp_chain_release(struct fp_swap *store, struct chain *chain);

/* Frees a chain for good: like fp_chain_release(), and blocks that are empty now are released. */
int fp_chain_forget(struct fp_swap *store, struct chain *chain);

/* Finds the free space again, from the chains of all slots, after a wrong header has hidden what a
 * slot takes. Slots whose chain is wrong are lost. */
void fp_chain_rebuild(struct fp_swap *store);

/* Gives up a slot whose chain is wrong. Returns FP_SWAP_IO, with nothing done, if another chain
 * cannot be read now, which fp_chain_rebuild() would give up, too. */
int fp_chain_lose(struct fp_swap *store, uint32_t lost);

/* Writes a record into its reserved room. */
int fp_chain_program(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                     const uint8_t *data, const struct room *room);

/* room.c */

/* Reserves room for `size` bytes of data in at most `pieces` pieces, the largest chunks first. If
 * no chunk is as large as a page, data that fits into one chunk goes into the first one it fits
 * into: that keeps the larger ones whole, and lets 94 % of a medium be filled instead of 88 %.
 * Returns false, with nothing done, if there is no room. */
bool fp_room_set_aside(struct fp_swap *store, uint32_t size, uint32_t pieces, struct room *room);

/* Frees the reserved room again. */
void fp_room_give_back(struct fp_swap *store, const struct room *room);

/* The room holds a record now. After each turnover of the medium, chunks are filled from their
 * other end: otherwise a store with much free space would wear only half of it. */
void fp_room_keep(struct fp_swap *store, const struct room *room, uint32_t bytes);

#endif
