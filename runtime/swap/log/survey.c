/* Finds the blocks of the zone that begin with a meta page, of this or of any other shape, and the
 * newest of them that counts. */
#include "log_internal.h"

#include <string.h>

/* Reads a meta page into log->page. */
enum page_kind fp_log_read_page(struct fp_swap *store, uint32_t block, uint32_t index,
                                struct meta_header *header)
{
    uint8_t *page = store->of.log.page;

    if (fp_log_read_medium(store, block, index * program_bytes(store), page,
                           program_bytes(store))) {
        return PAGE_UNREADABLE;
    }
    return fp_log_parse_page(store, page, block, index, header);
}

/* Returns true if a page in memory begins like the first page of a data block. */
static bool is_data(const struct fp_swap *store, const uint8_t *page)
{
    uint32_t slot = fp_swap_get32(page);
    uint32_t location = fp_swap_get32(page + 4);
    uint32_t bytes = fp_swap_get32(page + 8);

    return slot == NOWHERE ? location == 0 && bytes == 0
                           : slot < store->config->slot_count && bytes > 0 &&
                                 bytes <= record_bytes((uint16_t)store->config->page_bytes);
}

/* Reads a pair: one of its copies, or the kind of the first. */
enum page_kind fp_log_read_pair(struct fp_swap *store, uint32_t block, uint32_t pair,
                                struct meta_header *header)
{
    enum page_kind kind = fp_log_read_page(store, block, 2u * pair, header);

    /* The second copy is programmed after the first. */
    if (kind == PAGE_BROKEN || kind == PAGE_UNREADABLE ||
        (kind == PAGE_NOT_META && (pair > 0 || !is_data(store, store->of.log.page)))) {
        struct meta_header other;
        enum page_kind second = fp_log_read_page(store, block, 2u * pair + 1u, &other);

        if (second == PAGE_META) {
            *header = other;
            return second;
        }
        if (kind == PAGE_UNREADABLE && second != PAGE_UNREADABLE) {
            return PAGE_BROKEN;
        }
    }
    return kind;
}

/* Reads bytes at any place of the medium, up to its end. */
static int read_at(struct fp_swap *store, uint64_t at, uint8_t *data, uint32_t size)
{
    int error = FP_SWAP_OK;

    while (size > 0 && !error) {
        uint64_t block = FP_DIV64(at, block_bytes(store));
        uint32_t offset = (uint32_t)(at - block * block_bytes(store));
        uint32_t n = block_bytes(store) - offset < size ? block_bytes(store) - offset : size;

        error = block < block_count(store)
                    ? fp_log_read_medium(store, (uint32_t)block, offset, data, n)
                    : FP_SWAP_IO;
        data += n;
        at += n;
        size -= n;
    }
    return error;
}

/* Reads a page of a meta block of another shape, which begins where `block` begins. */
static FP_APART enum page_kind read_other_page(struct fp_swap *store, uint32_t block,
                                               const struct fp_swap_shape *shape, uint32_t index,
                                               struct meta_header *header)
{
    uint64_t start = (uint64_t)block * block_bytes(store);
    uint32_t number = (uint32_t)FP_DIV64(start, shape->block_bytes);
    uint64_t at = start + (uint64_t)index * shape->program_bytes;
    uint32_t left = shape->program_bytes - META_HEADER;
    uint8_t head[META_HEADER];
    struct fp_swap_shape here;
    uint32_t crc;

    if (read_at(store, at, head, META_HEADER)) {
        return PAGE_UNREADABLE;
    }
    if (!fp_log_parse_prefix(head, &here) || memcmp(&here, shape, sizeof(here)) != 0) {
        return PAGE_NOT_META;
    }
    fp_log_parse_header(store, head, header);
    crc = fp_log_page_crc(store, head, number, index);
    for (at += META_HEADER; left > 0;) {
        uint32_t n = program_bytes(store) < left ? program_bytes(store) : left;

        if (read_at(store, at, store->of.log.page, n)) {
            return PAGE_UNREADABLE;
        }
        crc = fp_swap_crc(store, crc, store->of.log.page, n);
        at += n;
        left -= n;
    }
    return crc == fp_swap_get32(head + META_PREFIX) ? PAGE_META : PAGE_BROKEN;
}

/* Reads a pair of a meta block of another shape. */
static bool has_other_pair(struct fp_swap *store, uint32_t block,
                           const struct fp_swap_shape *shape, uint32_t pair,
                           struct meta_header *header)
{
    return read_other_page(store, block, shape, 2u * pair, header) == PAGE_META ||
           read_other_page(store, block, shape, 2u * pair + 1u, header) == PAGE_META;
}

/* Reads the shape of another store from the prefix of a block. Returns false if the prefix has no
 * shape that this version knows. If a store of another version has written it, its shape is then in
 * `store->other`. */
static bool read_shape(struct fp_swap *store, uint32_t block, struct fp_swap_shape *shape,
                       struct survey *survey)
{
    uint8_t prefix[META_PREFIX];

    if (fp_log_read_medium(store, block, 0, prefix, META_PREFIX) ||
        !fp_log_parse_prefix(prefix, shape)) {
        return false;
    }
    if (shape->version != FP_SWAP_VERSION) {
        store->other = *shape;
        survey->version = true;
        return false;
    }
    return shape->program_bytes > META_HEADER && shape->block_bytes >= shape->program_bytes;
}

/* Returns true if a block of another shape counts. Then it is the newest, and `survey` has the blocks
 * that it reserves. */
static FP_APART bool other_counts(struct fp_swap *store, uint32_t block, struct survey *survey)
{
    struct meta_header header;
    struct fp_swap_shape shape;
    uint32_t generation = store->of.log.blocks[block].stamp;
    uint32_t confirmed = NOWHERE;
    uint32_t end = 0;
    uint32_t pair;

    if (!read_shape(store, block, &shape, survey)) {
        return false;
    }
    memset(survey->reserved, 0xff, sizeof(survey->reserved));
    for (pair = 1; pair < shape.block_bytes / shape.program_bytes / 2u; pair++) {
        if (has_other_pair(store, block, &shape, pair, &header) &&
            header.generation == generation) {
            end = pair + 1u;
            confirmed = header.confirmed;
            if (shape.block_bytes == block_bytes(store)) {
                memcpy(survey->reserved, header.reserved, sizeof(survey->reserved));
            }
        }
    }
    if (end <= confirmed) {
        return false;
    }
    store->other = shape;
    survey->other = true;
    return true;
}

/* Sets flags and the generation of a block that begins with a meta page. */
static void show(struct fp_swap *store, uint32_t block, uint8_t flags, uint32_t generation,
                 bool first)
{
    struct fp_swap_log_state *log = &store->of.log;

    log->blocks[block].flags |= flags;
    log->blocks[block].stamp = generation;
    if (first || (int32_t)(generation - log->generation) > 0) {
        log->generation = generation;
    }
}

void fp_log_survey_zone(struct fp_swap *store, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;
    const struct fp_medium *medium = store->config->medium;
    bool first = true;
    uint32_t block;

    survey->unreadable = false;
    survey->version = false;
    survey->page = NOWHERE;
    for (block = 0; block < block_count(store); block++) {
        struct fp_swap_block *b = &log->blocks[block];

        memset(b, 0, sizeof(*b));
        b->next = NO_BLOCK;
        b->flags = FLAG_UNKNOWN;
    }
    /* The zone grows by its bad blocks. */
    for (block = 0; fp_log_find_zone(store), block < log->zone_end; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct fp_swap_shape shape;
        struct meta_header header;

        if (medium->is_bad(medium->context, block)) {
            b->state_age = BLOCK_BAD;
            continue;
        }
        switch (fp_log_read_pair(store, block, 0, &header)) {
        case PAGE_META:
            show(store, block, FLAG_SHOWS, header.generation, first);
            first = false;
            break;
        case PAGE_OTHER:
            if (read_shape(store, block, &shape, survey) &&
                has_other_pair(store, block, &shape, 0, &header)) {
                show(store, block, FLAGS_OTHER, header.generation, first);
                first = false;
            }
            break;
        case PAGE_UNREADABLE:
            survey->unreadable = true;
            b->flags |= FLAG_UNREADABLE;
            break;
        default:
            break;
        }
    }
}

/* Returns the end of a block's valid pairs if the block counts, or 0. */
static uint32_t end_of_pairs(struct fp_swap *store, uint32_t block, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t confirmed = pairs_per_block(store);
    uint32_t most = block == survey->torn ? survey->whole : confirmed;
    struct meta_header header;
    uint32_t end = 0;
    uint32_t pair;

    for (pair = 1; pair < most; pair++) {
        enum page_kind kind = fp_log_read_pair(store, block, pair, &header);

        if (kind == PAGE_META && header.generation == log->blocks[block].stamp) {
            end = pair + 1u;
            confirmed = header.confirmed;
        } else if (kind == PAGE_UNREADABLE && survey->page == NOWHERE) {
            survey->page = block * pairs_per_block(store) + pair;
        } else if (kind == PAGE_BLANK) {
            break;
        }
        /* Valid pairs may follow a pair that cannot be read. */
    }
    if (end <= confirmed) {
        return 0;
    }
    log->confirmed = (uint16_t)confirmed;
    return end;
}

uint16_t fp_log_find_newest(struct fp_swap *store, struct survey *survey)
{
    struct fp_swap_log_state *log = &store->of.log;

    survey->other = false;
    for (;;) {
        uint32_t best = NOWHERE;
        uint32_t block;

        for (block = 0; block < log->zone_end; block++) {
            const struct fp_swap_block *b = &log->blocks[block];

            if ((b->flags & (FLAG_SHOWS | FLAG_DONE)) == FLAG_SHOWS &&
                (best == NOWHERE || (int32_t)(b->stamp - log->blocks[best].stamp) > 0)) {
                best = block;
            }
        }
        if (best == NOWHERE) {
            return NO_BLOCK;
        }
        log->blocks[best].flags |= FLAG_DONE;
        if ((log->blocks[best].flags & FLAGS_OTHER) == FLAGS_OTHER) {
            if (other_counts(store, best, survey)) {
                return (uint16_t)best;
            }
            continue;
        }
        survey->pairs = (uint16_t)end_of_pairs(store, best, survey);
        if (survey->pairs > 0) {
            return (uint16_t)best;
        }
    }
}
