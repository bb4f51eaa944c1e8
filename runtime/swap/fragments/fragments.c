/* Fragments as a layout: the functions that the store's front (swap.c) calls. */
#include "fragments_internal.h"

static uint64_t memory_words(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;

    if (medium->program_bytes != 1u || medium->block_count > (NONE - 1u) / medium->block_bytes ||
        config->chunk_count <= config->slot_count) {
        return 0;
    }
    return (uint64_t)config->chunk_count * (FP_SWAP_CHUNK_BYTES / 4u);
}

static int start_fragments(struct fp_swap *store, uint32_t *memory, bool keep)
{
    const struct fp_medium *medium = store->config->medium;
    uint32_t block;

    (void)keep; /* the free space was in memory, and is lost */
    for (block = 0; medium->release && block < medium->block_count; block++) {
        medium->release(medium->context, block);
    }
    store->of.fragments.chunks = (struct fp_swap_chunk *)memory;
    fp_chunks_clear(store);
    return FP_SWAP_OK;
}

/* Frees the pieces of a chain to which nothing links any more. If that fails, the free space is
 * found again from all other chains. */
static void free_chain(struct fp_swap *store, struct chain *chain)
{
    if (fp_chain_forget(store, chain)) {
        fp_chain_rebuild(store);
    }
}

static int drop_slot(struct fp_swap *store, uint32_t slot)
{
    struct chain chain;
    uint32_t pieces;
    uint32_t bytes;
    int error;

    if (has_pieces(store, slot)) {
        error = fp_chain_measure(store, slot, &pieces, &bytes);
        if (error == FP_SWAP_CORRUPT) {
            error = fp_chain_lose(store, slot);
        } else if (!error) {
            fp_chain_begin(store, &chain, slot);
            fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_NONE);
            free_chain(store, &chain);
        }
        if (error) {
            return error;
        }
    }
    fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_NONE);
    return FP_SWAP_OK;
}

/* Writes a record into reserved room, and assigns it to the slot. */
static int put_into(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                    const uint8_t *data, const struct room *room)
{
    uint32_t first =
        room->first == NONE ? room->address : store->of.fragments.chunks[room->first].address;
    int error = fp_chain_program(store, slot, record, data, room);

    if (error) {
        fp_room_give_back(store, room);
        return error;
    }
    fp_room_keep(store, room, record->size + FIRST_BYTES + (room->pieces - 1u) * HEADER_BYTES);
    fp_swap_settle(store, slot, first, record->size);
    store->stat.written_size += record->size;
    return FP_SWAP_OK;
}

/* Stores a record where there is room beside the old one, then frees the old one. */
static int put_beside(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      const uint8_t *data)
{
    bool is_old = has_pieces(store, slot);
    struct chain old;
    struct room room;
    int error;

    /* In one piece only: otherwise the old record's room fits better. */
    if (store->of.fragments.used + 1u >= store->config->chunk_count ||
        !fp_room_set_aside(
            store, record->size,
            is_old ? 1u : store->config->chunk_count - 1u - store->of.fragments.used, &room)) {
        return FP_SWAP_FULL;
    }
    fp_chain_begin(store, &old, slot);
    error = put_into(store, slot, record, data, &room);
    if (!error && is_old) {
        free_chain(store, &old);
    }
    return error;
}

/* Stores a record that needs the old one's room, which is freed first, as in the paper. Until there
 * is room for the new record this happens in memory only and can be undone. */
static int put_instead(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                       const uint8_t *data)
{
    struct chain old;
    struct room room;
    uint32_t pieces;
    uint32_t bytes;
    int error = fp_chain_measure(store, slot, &pieces, &bytes);

    if (error == FP_SWAP_CORRUPT) {
        error = fp_chain_lose(store, slot);
        return error ? error : put_beside(store, slot, record, data);
    }
    if (error) {
        return error;
    }
    if (store->of.fragments.free_bytes + bytes < FIRST_BYTES + record->size) {
        return FP_SWAP_FULL;
    }
    fp_chain_begin(store, &old, slot);
    error = fp_chain_release(store, &old);
    if (!error) {
        if (fp_room_set_aside(store, record->size,
                              store->config->chunk_count - 1u - store->of.fragments.used,
                              &room)) {
            error = put_into(store, slot, record, data, &room);
            if (error) {
                fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
            }
            return error;
        }
        fp_chain_begin(store, &old, slot);
        error = fp_chain_carve(store, &old);
        if (!error) {
            return FP_SWAP_FULL;
        }
    }
    /* The chain was right a moment ago. */
    fp_swap_settle(store, slot, NONE, FP_SWAP_SIZE_LOST);
    fp_chain_rebuild(store);
    return FP_SWAP_IO;
}

static int put_record(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      const uint8_t *data)
{
    int error;

    if (record->size == FP_SWAP_SIZE_SAME) {
        error = drop_slot(store, slot);
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

/* A header on the way to a page's data is wrong: the page is lost. */
static int lose_after_read(struct fp_swap *store, uint32_t slot, int error)
{
    if (error == FP_SWAP_IO) {
        return error;
    }
    (void)fp_chain_lose(store, slot);
    return FP_SWAP_CORRUPT;
}

static int find_record(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record)
{
    struct chain chain;
    int error;

    record->size = store->size[slot];
    record->crc = 0;
    record->word = store->location[slot];
    if (record->size == FP_SWAP_SIZE_SAME) {
        return FP_SWAP_OK;
    }
    fp_chain_begin(store, &chain, slot);
    error = fp_chain_step(store, &chain);
    if (error) {
        return lose_after_read(store, slot, error);
    }
    record->crc = chain.crc;
    return FP_SWAP_OK;
}

static int fetch_data(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                      uint8_t *data)
{
    struct chain chain;
    int error;

    (void)record;
    fp_chain_begin(store, &chain, slot);
    while ((error = fp_chain_step(store, &chain)) == FP_SWAP_OK) {
        error = fp_chain_read(store, chain.address + chain.header, data, chain.data);
        if (error) {
            return error;
        }
        data += chain.data;
    }
    return error == FP_SWAP_EMPTY ? FP_SWAP_OK : lose_after_read(store, slot, error);
}

static int sync_nothing(struct fp_swap *store)
{
    (void)store;
    return FP_SWAP_OK;
}

static void count_space(const struct fp_swap *store, uint64_t *used, uint64_t *limit)
{
    *limit = medium_bytes(store);
    *used = *limit - store->of.fragments.free_bytes;
}

static uint32_t erase_count(const struct fp_swap *store, uint32_t block)
{
    (void)store;
    (void)block;
    return 0;
}

static const char *check_fragments(struct fp_swap *store)
{
    uint32_t limit = medium_bytes(store);
    uint32_t used = 0;
    uint32_t slot;
    uint32_t pieces;
    uint32_t bytes;
    const char *wrong = fp_chunks_check(store);

    if (wrong) {
        return wrong;
    }
    for (slot = 0; slot < store->config->slot_count; slot++) {
        if (has_pieces(store, slot)) {
            if (fp_chain_measure(store, slot, &pieces, &bytes)) {
                return "a slot's chain of pieces is wrong";
            }
            used += pieces;
        }
    }
    if (used != store->of.fragments.used || used >= store->config->chunk_count) {
        return "the pieces are not as many as counted";
    }
    /* Frees all chains, which fails if a byte is in two, and leaves one chunk of the whole medium
     * if every byte is in one. Then takes them out again. */
    for (slot = 0; slot < store->config->slot_count && !wrong; slot++) {
        struct chain chain;

        fp_chain_begin(store, &chain, slot);
        if (has_pieces(store, slot) && fp_chain_release(store, &chain)) {
            wrong = "two pieces, or a piece and a free chunk, share bytes";
        }
    }
    if (!wrong && (store->of.fragments.free_bytes != limit ||
                   largest_in(store->of.fragments.chunks, store->of.fragments.root) != limit)) {
        wrong = "bytes of the medium are in no piece and no free chunk";
    }
    fp_chain_rebuild(store);
    return wrong ? wrong : fp_chunks_check(store);
}

const struct fp_swap_layout fp_swap_fragments = {
    .words = memory_words,
    .start = start_fragments,
    .put = put_record,
    .find = find_record,
    .fetch = fetch_data,
    .drop = drop_slot,
    .sync = sync_nothing,
    .space = count_space,
    .erase_count = erase_count,
    .check = check_fragments,
};
