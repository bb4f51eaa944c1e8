/*
 * Fragments: compressed pages on a medium that rewrites in place (MTDCOMPR, "Data
 * flow"). Where the medium is free stands in memory only.
 *
 * The medium is one row of bytes, cut into pieces and free chunks. A page's record is a
 * chain of pieces, each with a header before its data:
 *
 *     next     4  address of the next piece; FP_SWAP_NOWHERE in the last
 *     length   2  bytes of the piece, header and all
 *     check    2  over all of this, the address, the slot and the bytes still to come
 *     crc      4  of the record; in the first piece only
 *
 * where[] is the address of the first piece, or the word of a same-filled page, which
 * takes nothing of the medium.
 *
 * Free chunks never touch each other, so there is at most one more of them than of
 * pieces: with fewer pieces than config->chunk_count the nodes suffice, always.
 */
#include "../swap_internal.h"

#include <string.h>

#define NONE FP_SWAP_NOWHERE
#define HEADER_BYTES 8u
#define FIRST_BYTES 12u /* of the first piece's header */

/* Smaller chunks wait for a neighbour, but for what fits into them whole. From 16 to 256
 * bytes it makes no difference to how much of a medium can be filled. */
#ifndef FP_SWAP_PIECE_BYTES
#define FP_SWAP_PIECE_BYTES 64u
#endif

/* A free chunk: a node of a treap ordered by address. */
struct fp_swap_chunk {
    uint32_t address;
    uint32_t length;
    uint32_t child[2]; /* of lower addresses, of higher ones */
    uint32_t largest;  /* length in this subtree */
};

/* Nodes that are in no tree are linked by this. */
#define LINK child[0]

typedef char node_has_its_size[sizeof(struct fp_swap_chunk) == FP_SWAP_CHUNK_BYTES ? 1 : -1];

static uint32_t limit_of(const struct fp_swap *store)
{
    return store->config->medium->block_bytes * store->config->medium->block_count;
}

/* The node with the higher priority is nearer to the root. */
static uint32_t priority(uint32_t node)
{
    node = (node ^ node >> 16) * 0x7feb352du;
    node = (node ^ node >> 15) * 0x846ca68bu;
    return node ^ node >> 16;
}

static uint32_t largest(const struct fp_swap_chunk *chunks, uint32_t node)
{
    return node == NONE ? 0 : chunks[node].largest;
}

static void update(struct fp_swap_chunk *chunks, uint32_t node)
{
    struct fp_swap_chunk *chunk = &chunks[node];
    uint32_t low = largest(chunks, chunk->child[0]);
    uint32_t high = largest(chunks, chunk->child[1]);
    uint32_t most = low > high ? low : high;

    chunk->largest = most > chunk->length ? most : chunk->length;
}

/* Go down to the node at `address`, or to where it would be. The links gone along point
 * back meanwhile, so that climb() needs no stack. Returns the parent. */
static uint32_t descend(struct fp_swap *store, uint32_t address, uint32_t *found)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;
    uint32_t parent = NONE;

    while (node != NONE && chunks[node].address != address) {
        uint32_t *link = &chunks[node].child[address > chunks[node].address];
        uint32_t child = *link;

        *link = parent;
        parent = node;
        node = child;
    }
    *found = node;
    return parent;
}

/* Put `node` below `parent` on the side of `address`, and go up to the root: links point
 * down again, `largest` is right, and a node with a higher priority than its parent's
 * takes its place. */
static void climb(struct fp_swap *store, uint32_t parent, uint32_t node, uint32_t address)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    bool rising = node != NONE;

    if (node != NONE) {
        update(chunks, node);
    }
    while (parent != NONE) {
        uint8_t side = address > chunks[parent].address;
        uint32_t *link = &chunks[parent].child[side];
        uint32_t above = *link;

        rising = rising && priority(node) > priority(parent);
        if (rising) {
            *link = chunks[node].child[!side];
            update(chunks, parent);
            chunks[node].child[!side] = parent;
            update(chunks, node);
        } else {
            *link = node;
            update(chunks, parent);
            node = parent;
        }
        parent = above;
    }
    store->of.fragments.root = node;
}

static void insert(struct fp_swap *store, uint32_t node)
{
    struct fp_swap_chunk *chunk = &store->of.fragments.chunks[node];
    uint32_t found;
    uint32_t parent;

    chunk->child[0] = NONE;
    chunk->child[1] = NONE;
    parent = descend(store, chunk->address, &found);
    climb(store, parent, node, chunk->address);
}

static void insert_chunk(struct fp_swap *store, uint32_t address, uint32_t length)
{
    uint32_t node = store->of.fragments.unused;
    struct fp_swap_chunk *chunk = &store->of.fragments.chunks[node];

    store->of.fragments.unused = chunk->LINK;
    chunk->address = address;
    chunk->length = length;
    insert(store, node);
}

static void give_node(struct fp_swap *store, uint32_t node)
{
    store->of.fragments.chunks[node].LINK = store->of.fragments.unused;
    store->of.fragments.unused = node;
}

/* Take the node at `address` out of the tree: it sinks until no child is below it. */
static void detach(struct fp_swap *store, uint32_t address)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node;
    uint32_t parent = descend(store, address, &node);
    uint32_t below[2];

    below[0] = chunks[node].child[0];
    below[1] = chunks[node].child[1];
    while (below[0] != NONE && below[1] != NONE) {
        uint8_t side = priority(below[1]) > priority(below[0]);
        uint32_t up = below[side];

        below[side] = chunks[up].child[!side];
        chunks[up].child[!side] = parent;
        parent = up;
    }
    climb(store, parent, below[below[0] == NONE], address);
}

/* Change the range of the chunk at `address`; its place in the order stays. */
static void resize(struct fp_swap *store, uint32_t address, uint32_t to, uint32_t length)
{
    uint32_t node;
    uint32_t parent = descend(store, address, &node);

    store->of.fragments.chunks[node].address = to;
    store->of.fragments.chunks[node].length = length;
    climb(store, parent, node, to);
}

/* The last chunk at or before `address`, and the first after it; NONE. */
static void neighbours(const struct fp_swap *store, uint32_t address, uint32_t near[2])
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;

    near[0] = NONE;
    near[1] = NONE;
    while (node != NONE) {
        uint8_t side = address >= chunks[node].address;

        near[!side] = node;
        node = chunks[node].child[side];
    }
}

/* One of the largest chunks: the first of them after what was written last, so that
 * those of equal size take turns. */
static uint32_t pick(const struct fp_swap *store)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;
    uint32_t size = largest(chunks, node);
    uint32_t top = node;    /* the first one is in this subtree, */
    bool is_itself = false; /* or is its root */

    while (node != NONE) {
        uint32_t right = chunks[node].child[1];

        if (chunks[node].address < store->of.fragments.next) {
            node = right;
            continue;
        }
        if (chunks[node].length == size) {
            top = node;
            is_itself = true;
        } else if (largest(chunks, right) == size) {
            top = right;
            is_itself = false;
        }
        node = chunks[node].child[0];
    }
    while (top != NONE && !is_itself) {
        if (largest(chunks, chunks[top].child[0]) == size) {
            top = chunks[top].child[0];
        } else if (chunks[top].length == size) {
            is_itself = true;
        } else {
            top = chunks[top].child[1];
        }
    }
    return top;
}

/* The first chunk of at least `size` bytes; NONE. */
static uint32_t pick_first(const struct fp_swap *store, uint32_t size)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;

    if (largest(chunks, node) < size) {
        return NONE;
    }
    for (;;) {
        if (largest(chunks, chunks[node].child[0]) >= size) {
            node = chunks[node].child[0];
        } else if (chunks[node].length >= size) {
            return node;
        } else {
            node = chunks[node].child[1];
        }
    }
}

/* Make a range free. False, with nothing done, if some of it is already. */
static bool release(struct fp_swap *store, uint32_t address, uint32_t length)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t near[2];
    uint32_t before;
    uint32_t after;
    uint32_t end = address + length;
    bool joins_before;
    bool joins_after;

    neighbours(store, address, near);
    before = near[0];
    after = near[1];
    if ((before != NONE && chunks[before].address + chunks[before].length > address) ||
        (after != NONE && chunks[after].address < end)) {
        return false;
    }
    joins_before = before != NONE && chunks[before].address + chunks[before].length == address;
    joins_after = after != NONE && chunks[after].address == end;
    if (joins_before) {
        uint32_t start = chunks[before].address;

        if (joins_after) {
            end += chunks[after].length;
            detach(store, chunks[after].address);
            give_node(store, after);
        }
        resize(store, start, start, end - start);
    } else if (joins_after) {
        resize(store, end, address, length + chunks[after].length);
    } else {
        insert_chunk(store, address, length);
    }
    store->of.fragments.free_bytes += length;
    return true;
}

/* Take a range out of the chunk that it lies in. */
static void take(struct fp_swap *store, uint32_t node, uint32_t address, uint32_t length)
{
    uint32_t start = store->of.fragments.chunks[node].address;
    uint32_t end = start + store->of.fragments.chunks[node].length;

    store->of.fragments.free_bytes -= length;
    if (start < address) {
        resize(store, start, start, address - start);
        if (address + length < end) {
            insert_chunk(store, address + length, end - address - length);
        }
    } else if (address + length < end) {
        resize(store, start, address + length, end - address - length);
    } else {
        detach(store, start);
        give_node(store, node);
    }
}

/* Take a range out of the free space. False, with nothing done, if not all of it is
 * free. */
static bool carve(struct fp_swap *store, uint32_t address, uint32_t length)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t near[2];
    uint32_t node;

    neighbours(store, address, near);
    node = near[0];
    if (node == NONE || chunks[node].length < length ||
        address - chunks[node].address > chunks[node].length - length) {
        return false;
    }
    take(store, node, address, length);
    return true;
}

static void clear(struct fp_swap *store)
{
    uint32_t node;

    store->of.fragments.root = NONE;
    store->of.fragments.unused = NONE;
    store->of.fragments.used = 0;
    store->of.fragments.free_bytes = 0;
    for (node = store->config->chunk_count; node-- > 0;) {
        give_node(store, node);
    }
    (void)release(store, 0, limit_of(store));
}

static int read_bytes(struct fp_swap *store, uint32_t address, void *data, uint32_t size)
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

static int program_bytes(struct fp_swap *store, uint32_t address, const void *data,
                         uint32_t size)
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

/* A walk along a slot's pieces. */
struct chain {
    uint32_t slot;
    uint32_t next;    /* address; NONE after the last */
    uint32_t left;    /* bytes of data that are still to come */
    uint32_t address; /* of the piece */
    uint32_t data;    /* its bytes of data, */
    uint32_t header;  /* of header */
    uint32_t crc;     /* the record's, from the first piece */
};

static uint16_t check_of(uint32_t address, uint32_t slot, uint32_t left, const uint8_t *header)
{
    uint32_t check = address * 0x9e3779b1u ^ slot;

    check = (check ^ check >> 15) * 0x85ebca6bu ^ fp_swap_get32(header);
    check = (check ^ check >> 13) * 0xc2b2ae35u ^ left;
    check = (check ^ check >> 16) * 0x27d4eb2fu ^ fp_swap_get16(header + 4);
    check = (check ^ check >> 15) * 0x165667b1u;
    return (uint16_t)(check ^ check >> 16);
}

static void chain_of(const struct fp_swap *store, struct chain *chain, uint32_t slot)
{
    chain->slot = slot;
    chain->next = store->where[slot];
    chain->left = store->size[slot];
    chain->address = NONE;
}

/* Step to the next piece: FP_SWAP_EMPTY after the last, FP_SWAP_CORRUPT if its header
 * is wrong. A chain that ends has all its data, and no byte outside the medium. */
static int step(struct fp_swap *store, struct chain *chain)
{
    uint8_t header[FIRST_BYTES];
    uint32_t limit = limit_of(store);
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
    error = read_bytes(store, chain->address, header, chain->header);
    if (error) {
        return error;
    }
    chain->next = fp_swap_get32(header);
    length = fp_swap_get16(header + 4);
    if (fp_swap_get16(header + 6) !=
            check_of(chain->address, chain->slot, chain->left, header) ||
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

/* Whether a slot has pieces on the medium. */
static bool has_pieces(const struct fp_swap *store, uint32_t slot)
{
    return store->size[slot] != FP_SWAP_SIZE_NONE && store->size[slot] != FP_SWAP_SIZE_SAME &&
           store->size[slot] != FP_SWAP_SIZE_LOST;
}

/* Walk a chain and count what it takes. */
static int measure(struct fp_swap *store, uint32_t slot, uint32_t *pieces, uint32_t *bytes)
{
    struct chain chain;
    int error;

    *pieces = 0;
    *bytes = 0;
    chain_of(store, &chain, slot);
    while ((error = step(store, &chain)) == FP_SWAP_OK) {
        *pieces += 1;
        *bytes += chain.header + chain.data;
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : error;
}

/* Take a chain's pieces out of the free space, or give them to it; not all of them if
 * there is an error. */
static int move_chain(struct fp_swap *store, struct chain *chain, bool taking)
{
    int error;

    while ((error = step(store, chain)) == FP_SWAP_OK) {
        uint32_t length = chain->header + chain->data;

        if (taking ? !carve(store, chain->address, length)
                   : !release(store, chain->address, length)) {
            return FP_SWAP_CORRUPT;
        }
        store->of.fragments.used += taking ? 1u : 0xffffffffu;
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : error;
}

/* Find the free space anew, from the chains of all slots; those whose chain is wrong are
 * lost. For when a wrong header hides what a slot takes. */
static void rebuild(struct fp_swap *store)
{
    uint32_t slot = 0;

    clear(store);
    while (slot < store->config->slot_count) {
        struct chain chain;
        uint32_t pieces;
        uint32_t bytes;

        if (has_pieces(store, slot)) {
            chain_of(store, &chain, slot);
            if (measure(store, slot, &pieces, &bytes)) {
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
            } else if (store->config->chunk_count - store->of.fragments.used <= pieces ||
                       move_chain(store, &chain, true)) {
                /* It shares bytes with another, and some of it are taken by now. */
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
                clear(store);
                slot = 0;
                continue;
            }
        }
        slot++;
    }
}

/* Give up a slot whose chain is wrong. FP_SWAP_IO, with nothing done, where another's
 * chain cannot be read now, which rebuild() would give up too. */
static int lose(struct fp_swap *store, uint32_t lost)
{
    uint32_t slot;
    uint32_t pieces;
    uint32_t bytes;

    for (slot = 0; slot < store->config->slot_count; slot++) {
        if (slot != lost && has_pieces(store, slot) &&
            measure(store, slot, &pieces, &bytes) == FP_SWAP_IO) {
            return FP_SWAP_IO;
        }
    }
    fp_swap_settle(store, lost, NONE, FP_SWAP_SIZE_LOST);
    rebuild(store);
    return FP_SWAP_OK;
}

/* Free chunks set aside: whole ones, linked in the order of the chain, and then
 * the start or the end of another. */
struct room {
    uint32_t first; /* nodes, out of the tree */
    uint32_t last;
    uint32_t pieces;
    uint32_t address; /* of the last piece */
    uint32_t length;
};

static void give_room_back(struct fp_swap *store, const struct room *room)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = room->first;

    if (room->length > 0) {
        (void)release(store, room->address, room->length);
    }
    while (node != NONE) {
        uint32_t next = chunks[node].LINK;

        store->of.fragments.free_bytes += chunks[node].length;
        insert(store, node);
        node = next;
    }
}

/* Set room aside for `size` bytes of data in at most `pieces` pieces, the largest chunks
 * first. Where these are scarce, none of them as large as a page, what fits into one goes
 * into the first that it fits into: that keeps the larger ones whole, and lets 94 % of a
 * medium be filled where it would be 88 %. False, with nothing done, where there is no
 * room. */
static bool set_aside(struct fp_swap *store, uint32_t size, uint32_t pieces, struct room *room)
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
        uint32_t node = pick(store);
        uint32_t length;
        length = node == NONE ? 0 : chunks[node].length;
        if (length < store->config->page_bytes && length >= header + size) {
            node = pick_first(store, header + size);
            length = chunks[node].length;
        }

        if (length >= header + size) {
            room->length = header + size;
            room->address = chunks[node].address;
            if (store->of.fragments.from_end) {
                room->address += length - room->length;
            }
            take(store, node, room->address, room->length);
            return true;
        }
        if (length < FP_SWAP_PIECE_BYTES) {
            break;
        }
        detach(store, chunks[node].address);
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
    give_room_back(store, room);
    return false;
}

/* The room holds a record now. After each turnover of the medium, chunks are filled from
 * their other end: else a store with much room would wear only half of it. */
static void keep_room(struct fp_swap *store, const struct room *room, uint32_t bytes)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t limit = limit_of(store);
    uint32_t node = room->first;

    while (node != NONE) {
        uint32_t next = chunks[node].LINK;

        give_node(store, node);
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

/* Write a record into its room. */
static int program_record(struct fp_swap *store, uint32_t slot,
                          const struct fp_swap_record *record, const uint8_t *data,
                          const struct room *room)
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

        fp_swap_put32(header, node == NONE    ? NONE
                              : next == NONE ? room->address
                                             : chunks[next].address);
        fp_swap_put16(header + 4, (uint16_t)length);
        fp_swap_put16(header + 6, check_of(address, slot, left, header));
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

static uint64_t fragment_words(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;

    if (medium->program_bytes != 1u || medium->block_count > (NONE - 1u) / medium->block_bytes ||
        config->chunk_count <= config->slot_count) {
        return 0;
    }
    return (uint64_t)config->chunk_count * (FP_SWAP_CHUNK_BYTES / 4u);
}

static int fragment_start(struct fp_swap *store, uint32_t *memory, bool keep)
{
    (void)keep; /* what is free stood in memory, which is gone */
    store->of.fragments.chunks = (struct fp_swap_chunk *)memory;
    clear(store);
    return FP_SWAP_OK;
}

/* Free the pieces of a chain that nothing leads to any more. If that fails on the way,
 * what is free can only be known from all the others. */
static void drop_chain(struct fp_swap *store, struct chain *chain)
{
    if (move_chain(store, chain, false)) {
        rebuild(store);
    }
}

static int fragment_drop(struct fp_swap *store, uint32_t slot)
{
    struct chain chain;
    uint32_t pieces;
    uint32_t bytes;
    int error;

    if (has_pieces(store, slot)) {
        error = measure(store, slot, &pieces, &bytes);
        if (error == FP_SWAP_CORRUPT) {
            error = lose(store, slot);
        } else if (!error) {
            chain_of(store, &chain, slot);
            fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_NONE);
            drop_chain(store, &chain);
        }
        if (error) {
            return error;
        }
    }
    fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_NONE);
    return FP_SWAP_OK;
}

/* Write a record into room set aside, and let the slot have it. */
static int put_into(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                    const uint8_t *data, const struct room *room)
{
    uint32_t first = room->first == NONE ? room->address
                                         : store->of.fragments.chunks[room->first].address;
    int error = program_record(store, slot, record, data, room);

    if (error) {
        give_room_back(store, room);
        return error;
    }
    keep_room(store, room,
              record->size + FIRST_BYTES + (room->pieces - 1u) * HEADER_BYTES);
    fp_swap_settle(store, slot, first, record->size);
    store->stat.written_size += record->size;
    return FP_SWAP_OK;
}

/* Put a record where there is room without the old one's, and free that afterwards. */
static int put_beside(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      const uint8_t *data)
{
    bool is_old = has_pieces(store, slot);
    struct chain old;
    struct room room;
    int error;

    /* In one piece only: else the old one's room makes a better fit. */
    if (store->of.fragments.used + 1u >= store->config->chunk_count ||
        !set_aside(store, record->size,
                   is_old ? 1u : store->config->chunk_count - 1u - store->of.fragments.used,
                   &room)) {
        return FP_SWAP_FULL;
    }
    chain_of(store, &old, slot);
    error = put_into(store, slot, record, data, &room);
    if (!error && is_old) {
        drop_chain(store, &old);
    }
    return error;
}

/* Put a record where the old one's room is needed: that is made free first, as the paper
 * does. Until there is room for the new one this is so in memory only, and can be taken
 * back. */
static int put_instead(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                       const uint8_t *data)
{
    struct chain old;
    struct room room;
    uint32_t pieces;
    uint32_t bytes;
    int error = measure(store, slot, &pieces, &bytes);

    if (error == FP_SWAP_CORRUPT) {
        error = lose(store, slot);
        return error ? error : put_beside(store, slot, record, data);
    }
    if (error) {
        return error;
    }
    if (store->of.fragments.free_bytes + bytes < FIRST_BYTES + record->size) {
        return FP_SWAP_FULL;
    }
    chain_of(store, &old, slot);
    error = move_chain(store, &old, false);
    if (!error) {
        if (set_aside(store, record->size,
                      store->config->chunk_count - 1u - store->of.fragments.used, &room)) {
            error = put_into(store, slot, record, data, &room);
            if (error) {
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
            }
            return error;
        }
        chain_of(store, &old, slot);
        error = move_chain(store, &old, true);
        if (!error) {
            return FP_SWAP_FULL;
        }
    }
    /* The chain was right a moment ago. */
    fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
    rebuild(store);
    return FP_SWAP_IO;
}

static int fragment_put(struct fp_swap *store, uint32_t slot,
                        const struct fp_swap_record *record, const uint8_t *data)
{
    int error;

    if (record->size == FP_SWAP_SIZE_SAME) {
        error = fragment_drop(store, slot);
        if (!error) {
            fp_swap_settle(store, slot, record->word, FP_SWAP_SIZE_SAME);
        }
        return error;
    }
    error = put_beside(store, slot, record, data);
    if (error == FP_SWAP_FULL && has_pieces(store, slot)) {
        error = put_instead(store, slot, record, data);
    }
    return error;
}

/* A wrong header on the way to a page's data: the page is lost. */
static int fail_read(struct fp_swap *store, uint32_t slot, int error)
{
    if (error == FP_SWAP_IO) {
        return error;
    }
    (void)lose(store, slot);
    return FP_SWAP_CORRUPT;
}

static int fragment_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record)
{
    struct chain chain;
    int error;

    record->size = store->size[slot];
    record->crc = 0;
    record->word = store->where[slot];
    if (record->size == FP_SWAP_SIZE_SAME) {
        return FP_SWAP_OK;
    }
    chain_of(store, &chain, slot);
    error = step(store, &chain);
    if (error) {
        return fail_read(store, slot, error);
    }
    record->crc = chain.crc;
    return FP_SWAP_OK;
}

static int fragment_fetch(struct fp_swap *store, uint32_t slot,
                          const struct fp_swap_record *record, uint8_t *data)
{
    struct chain chain;
    int error;

    (void)record;
    chain_of(store, &chain, slot);
    while ((error = step(store, &chain)) == FP_SWAP_OK) {
        error = read_bytes(store, chain.address + chain.header, data, chain.data);
        if (error) {
            return error;
        }
        data += chain.data;
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : fail_read(store, slot, error);
}

static int fragment_sync(struct fp_swap *store)
{
    (void)store;
    return FP_SWAP_OK;
}

static void fragment_space(const struct fp_swap *store, uint64_t *used, uint64_t *limit)
{
    *limit = limit_of(store);
    *used = *limit - store->of.fragments.free_bytes;
}

static uint32_t fragment_erase_count(const struct fp_swap *store, uint32_t block)
{
    (void)store;
    (void)block;
    return 0;
}

/* What is wrong with the tree; NULL. */
static const char *check_tree(struct fp_swap *store)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t limit = limit_of(store);
    uint32_t end = 0;
    uint32_t address = 0;
    uint32_t free_bytes = 0;
    uint32_t count = 0;
    uint32_t node;

    for (;;) {
        uint32_t near[2];
        uint32_t low;
        uint32_t high;
        uint32_t top;

        neighbours(store, address, near);
        node = count == 0 && near[0] != NONE ? near[0] /* at 0 */ : near[1];
        if (node == NONE) {
            break;
        }
        count++;
        address = chunks[node].address;
        if (chunks[node].length == 0 || (count > 1 && address <= end) || address >= limit ||
            chunks[node].length > limit - address) {
            return "free chunks touch, overlap or lie outside";
        }
        end = address + chunks[node].length;
        free_bytes += chunks[node].length;
        low = chunks[node].child[0];
        high = chunks[node].child[1];
        top = largest(chunks, low) > largest(chunks, high) ? largest(chunks, low)
                                                          : largest(chunks, high);
        if (chunks[node].largest != (top > chunks[node].length ? top : chunks[node].length)) {
            return "the largest chunk of a subtree is not the one noted";
        }
        if ((low != NONE && priority(low) > priority(node)) ||
            (high != NONE && priority(high) > priority(node))) {
            return "the tree of free chunks is out of order";
        }
    }
    if (free_bytes != store->of.fragments.free_bytes) {
        return "the free bytes are not those of the free chunks";
    }
    for (node = store->of.fragments.unused; node != NONE; node = chunks[node].LINK) {
        if (++count > store->config->chunk_count) {
            break;
        }
    }
    return count == store->config->chunk_count ? NULL : "a node of a free chunk is lost";
}

static const char *fragment_check(struct fp_swap *store)
{
    uint32_t limit = limit_of(store);
    uint32_t used = 0;
    uint32_t slot;
    uint32_t pieces;
    uint32_t bytes;
    const char *wrong = check_tree(store);

    if (wrong) {
        return wrong;
    }
    for (slot = 0; slot < store->config->slot_count; slot++) {
        if (has_pieces(store, slot)) {
            if (measure(store, slot, &pieces, &bytes)) {
                return "a slot's chain of pieces is wrong";
            }
            used += pieces;
        }
    }
    if (used != store->of.fragments.used || used >= store->config->chunk_count) {
        return "the pieces are not as many as counted";
    }
    /* Free all of them: that fails if a byte is in two, and leaves one chunk of the whole
     * medium if every byte is in one. Then take them out again. */
    for (slot = 0; slot < store->config->slot_count && !wrong; slot++) {
        struct chain chain;

        chain_of(store, &chain, slot);
        if (has_pieces(store, slot) && move_chain(store, &chain, false)) {
            wrong = "two pieces, or a piece and a free chunk, share bytes";
        }
    }
    if (!wrong && (store->of.fragments.free_bytes != limit ||
                   largest(store->of.fragments.chunks, store->of.fragments.root) != limit)) {
        wrong = "bytes of the medium are in no piece and no free chunk";
    }
    rebuild(store);
    return wrong ? wrong : check_tree(store);
}

const struct fp_swap_layout fp_swap_fragments = {
    .words = fragment_words,
    .start = fragment_start,
    .put = fragment_put,
    .find = fragment_find,
    .fetch = fragment_fetch,
    .drop = fragment_drop,
    .sync = fragment_sync,
    .space = fragment_space,
    .erase_count = fragment_erase_count,
    .check = fragment_check,
};
