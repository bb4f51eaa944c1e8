/* The free chunks: a treap ordered by address, in which each node knows the longest chunk below it.
 * Walks need no recursion, as links point back on the way down. */
#include "fragments_internal.h"

typedef char node_has_its_size[sizeof(struct fp_swap_chunk) == FP_SWAP_CHUNK_BYTES ? 1 : -1];

/* Returns a node's priority. The node with the higher one is nearer to the root. */
static uint32_t priority(uint32_t node)
{
    node = (node ^ node >> 16) * 0x7feb352du;
    node = (node ^ node >> 15) * 0x846ca68bu;
    return node ^ node >> 16;
}

static void update_largest(struct fp_swap_chunk *chunks, uint32_t node)
{
    struct fp_swap_chunk *chunk = &chunks[node];
    uint32_t low = largest_in(chunks, chunk->child[0]);
    uint32_t high = largest_in(chunks, chunk->child[1]);
    uint32_t most = low > high ? low : high;

    chunk->largest = most > chunk->length ? most : chunk->length;
}

/* Goes down to the node at `address`, or to where it would be. The links passed point back
 * meanwhile, so that climb_from() needs no stack. Returns the parent. */
static uint32_t descend_to(struct fp_swap *store, uint32_t address, uint32_t *found)
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

/* Puts `node` below `parent` on the side of `address`, and goes up to the root: links point down
 * again, `largest` is updated, and a node with a higher priority than its parent takes the parent's
 * place. */
static void climb_from(struct fp_swap *store, uint32_t parent, uint32_t node, uint32_t address)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    bool rising = node != NONE;

    if (node != NONE) {
        update_largest(chunks, node);
    }
    while (parent != NONE) {
        uint8_t side = address > chunks[parent].address;
        uint32_t *link = &chunks[parent].child[side];
        uint32_t above = *link;

        rising = rising && priority(node) > priority(parent);
        if (rising) {
            *link = chunks[node].child[!side];
            update_largest(chunks, parent);
            chunks[node].child[!side] = parent;
            update_largest(chunks, node);
        } else {
            *link = node;
            update_largest(chunks, parent);
            node = parent;
        }
        parent = above;
    }
    store->of.fragments.root = node;
}

void fp_chunks_insert(struct fp_swap *store, uint32_t node)
{
    struct fp_swap_chunk *chunk = &store->of.fragments.chunks[node];
    uint32_t found;
    uint32_t parent;

    chunk->child[0] = NONE;
    chunk->child[1] = NONE;
    parent = descend_to(store, chunk->address, &found);
    climb_from(store, parent, node, chunk->address);
}

static void insert_chunk(struct fp_swap *store, uint32_t address, uint32_t length)
{
    uint32_t node = store->of.fragments.unused;
    struct fp_swap_chunk *chunk = &store->of.fragments.chunks[node];

    store->of.fragments.unused = chunk->LINK;
    chunk->address = address;
    chunk->length = length;
    fp_chunks_insert(store, node);
}

void fp_chunks_give_node(struct fp_swap *store, uint32_t node)
{
    store->of.fragments.chunks[node].LINK = store->of.fragments.unused;
    store->of.fragments.unused = node;
}

/* The node sinks until it has no child. */
void fp_chunks_detach(struct fp_swap *store, uint32_t address)
{
    struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node;
    uint32_t parent = descend_to(store, address, &node);
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
    climb_from(store, parent, below[below[0] == NONE], address);
}

/* Changes the range of the chunk at `address`, which keeps its place in the order. */
static void resize(struct fp_swap *store, uint32_t address, uint32_t to, uint32_t length)
{
    uint32_t node;
    uint32_t parent = descend_to(store, address, &node);

    store->of.fragments.chunks[node].address = to;
    store->of.fragments.chunks[node].length = length;
    climb_from(store, parent, node, to);
}

/* Finds the last chunk at or before `address`, and the first after it; NONE if there is none. */
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

void fp_chunks_shed(struct fp_swap *store, uint32_t address, uint32_t length)
{
    const struct fp_medium *medium = store->config->medium;
    uint32_t near[2];
    uint32_t start;
    uint32_t end;
    uint32_t block;

    if (!medium->release) {
        return;
    }
    neighbours(store, address, near);
    start = store->of.fragments.chunks[near[0]].address;
    end = start + store->of.fragments.chunks[near[0]].length;
    for (block = address / medium->block_bytes;
         block <= (address + length - 1u) / medium->block_bytes; block++) {
        if (block * medium->block_bytes >= start &&
            block * medium->block_bytes + (medium->block_bytes - 1u) < end) {
            medium->release(medium->context, block);
        }
    }
}

uint32_t fp_chunks_pick_largest(const struct fp_swap *store)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;
    uint32_t size = largest_in(chunks, node);
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
        } else if (largest_in(chunks, right) == size) {
            top = right;
            is_itself = false;
        }
        node = chunks[node].child[0];
    }
    while (top != NONE && !is_itself) {
        if (largest_in(chunks, chunks[top].child[0]) == size) {
            top = chunks[top].child[0];
        } else if (chunks[top].length == size) {
            is_itself = true;
        } else {
            top = chunks[top].child[1];
        }
    }
    return top;
}

uint32_t fp_chunks_pick_first(const struct fp_swap *store, uint32_t size)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t node = store->of.fragments.root;

    if (largest_in(chunks, node) < size) {
        return NONE;
    }
    for (;;) {
        if (largest_in(chunks, chunks[node].child[0]) >= size) {
            node = chunks[node].child[0];
        } else if (chunks[node].length >= size) {
            return node;
        } else {
            node = chunks[node].child[1];
        }
    }
}

bool fp_chunks_release(struct fp_swap *store, uint32_t address, uint32_t length)
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
            fp_chunks_detach(store, chunks[after].address);
            fp_chunks_give_node(store, after);
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

void fp_chunks_take(struct fp_swap *store, uint32_t node, uint32_t address, uint32_t length)
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
        fp_chunks_detach(store, start);
        fp_chunks_give_node(store, node);
    }
}

bool fp_chunks_carve(struct fp_swap *store, uint32_t address, uint32_t length)
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
    fp_chunks_take(store, node, address, length);
    return true;
}

void fp_chunks_clear(struct fp_swap *store)
{
    uint32_t node;

    store->of.fragments.root = NONE;
    store->of.fragments.unused = NONE;
    store->of.fragments.used = 0;
    store->of.fragments.free_bytes = 0;
    for (node = store->config->chunk_count; node-- > 0;) {
        fp_chunks_give_node(store, node);
    }
    (void)fp_chunks_release(store, 0, medium_bytes(store));
}

const char *fp_chunks_check(struct fp_swap *store)
{
    const struct fp_swap_chunk *chunks = store->of.fragments.chunks;
    uint32_t limit = medium_bytes(store);
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
        top = largest_in(chunks, low) > largest_in(chunks, high) ? largest_in(chunks, low)
                                                                 : largest_in(chunks, high);
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
