/*
 * The log: for NAND.
 *
 * Records are packed one after another into the payload of flash pages; one may go
 * on in the next pages of its block, none in another block. The newest record of a
 * slot is the one that counts: order is that of the blocks' sequence numbers, then
 * of pages, then within the page. A slot that was freed has a record, too, so that
 * an older one does not come back.
 *
 *     flash page   header of the block, 44 bytes (page 0 only)
 *                  slots of the records that begin in the page before, 4 bytes each
 *                  payload: the rest of a record from the page before, then new ones
 *                  ... 0xff ...
 *                  records that begin here, 12 bytes each, the first one last
 *                  trailer, 20 bytes
 *
 * The list of the page before makes a page that cannot be read at mount cost no more
 * than the slots that were in it; so no record begins in the last page of a block, or
 * in the last that is used. A header names the block that will be erased next
 * and what its erase counter will be then: so a power cut loses no counter, and a
 * half-erased block is known as one. It also names the block before, and how many of its
 * pages are in use: so a page whose programming failed is not taken for one that was
 * lost. What this does not cover is said in README.md, "What the log promises".
 *
 * All is written by one head. When a block is opened, all that was written before is
 * on the medium, so that what was collected may be erased.
 */
#include "../swap_internal.h"

#include <string.h>

#define TRAILER_BYTES 20
#define TRAILER ((uint32_t)TRAILER_BYTES)
#define ENTRY ((uint32_t)12)
#define NAME ((uint32_t)4) /* a slot in the list of the page before */
#define HEADER_BYTES 44
#define HEADER ((uint32_t)HEADER_BYTES)
#define CHARGE (ENTRY + NAME)
#define NOWHERE FP_SWAP_NOWHERE
#define MAGIC 0x57535046u /* "FPSW" */
#define VERSION 2u

/* With the number of names: there are as many pages as `carry` says that hold nothing
 * between the last one programmed and this one. A power cut may have hit them. */
#define VOID 0x8000u

/* Free blocks that are kept at hand: a collection may open two before it frees one,
 * and each block names its successor. */
#define FREE_BLOCKS 4u

/* Blocks more that are freed at a time where the reserve allows: what is moved then
 * fills blocks of its own, apart from what is written, and lies still longer. */
#define BATCH 4u

/* What a program that failed gives inside this file; never to callers. */
#define FAILED 1

/* States of a block. */
enum { FREE, CLOSED, HEAD, BAD };

/* Flags of a block. */
enum {
    URGENT = 1,  /* its bits had to be corrected, or a program failed: collect it soon */
    RETIRED = 2, /* a program failed: it becomes bad when it has been collected */
    RECENT = 4,  /* freed since the head's block was opened */
    COUNTED = 8, /* in mount: closed, and no header says how many pages are in use */
    LEANS = 16,  /* only the header of the next block says what counts in it */
};

struct fp_swap_block {
    uint32_t sequence; /* 0: holds nothing of this store */
    uint32_t erases;
    uint32_t live;  /* bytes of live records, CHARGE each included */
    uint16_t pages; /* in use, of a closed block */
    uint8_t state;
    uint8_t flags;
};

typedef char block_bytes_are_as_stated[sizeof(struct fp_swap_block) == FP_SWAP_BLOCK_BYTES ? 1
                                                                                           : -1];

/* Where the bytes of a record are: in memory, or on the medium from an offset in a
 * page; `end` is where that page's payload ends and `base` where the next one's
 * begins. */
struct source {
    const uint8_t *data;
    uint32_t page;
    uint32_t offset;
    uint32_t end;
    uint32_t base;
};

/* What stands in a flash page. */
struct directory {
    const uint8_t *page;
    uint32_t base; /* where the list of the page before begins */
    uint16_t count;
    uint16_t before;
    uint16_t carry;
    uint16_t voids;
};

struct entry {
    uint32_t slot;
    uint32_t crc;
    uint16_t size;
    uint16_t stored;
};

static uint32_t program_bytes(const struct fp_swap *store)
{
    return store->config->medium->program_bytes;
}

static uint32_t pages_per_block(const struct fp_swap *store)
{
    return store->config->medium->block_bytes / store->config->medium->program_bytes;
}

static uint32_t entries_per_page(const struct fp_swap *store)
{
    return (program_bytes(store) - TRAILER) / ENTRY;
}

static uint32_t page_of(const struct fp_swap *store, uint32_t where)
{
    return where / entries_per_page(store);
}

static uint32_t block_of(const struct fp_swap *store, uint32_t where)
{
    return page_of(store, where) / pages_per_block(store);
}

static uint32_t where_of(const struct fp_swap *store, uint32_t page, uint32_t index)
{
    return page * entries_per_page(store) + index;
}

/* The page that head will be programmed into; NOWHERE if its block is full. */
static uint32_t head_page(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    return log->block == NOWHERE || log->page == pages_per_block(store)
               ? NOWHERE
               : log->block * pages_per_block(store) + log->page;
}

/* Bytes of a block that records can have: payload, entries and names. */
static uint32_t usable(const struct fp_swap *store)
{
    return pages_per_block(store) * (program_bytes(store) - TRAILER) - HEADER;
}

/* Of them, those that records surely get: the last one may not fit, none begins in the
 * last page, and in each page a few bytes may be too few for an entry. */
static uint32_t assured(const struct fp_swap *store)
{
    uint32_t record = store->config->page_bytes + CHARGE;

    return usable(store) - (record > program_bytes(store) ? record : program_bytes(store)) -
           (ENTRY - 1u) * pages_per_block(store);
}

static uint32_t reserve(const struct fp_swap *store)
{
    return store->config->reserve_blocks ? store->config->reserve_blocks : FP_SWAP_LOG_RESERVE;
}

/* Bytes that all live records may have. */
static uint64_t live_limit(const struct fp_swap *store)
{
    uint32_t good = store->config->medium->block_count - store->stat.bad_blocks;

    return good > reserve(store) ? (uint64_t)(good - reserve(store)) * assured(store) : 0;
}

/* Bytes of payload of a record. */
static uint16_t stored_of(uint16_t size)
{
    return size == FP_SWAP_SIZE_SAME ? 4u : size == FP_SWAP_SIZE_LOST ? 0u : size;
}

static uint32_t charge(uint16_t size)
{
    return CHARGE + stored_of(size);
}

/* Let a slot's record be the one at `where`. */
static void place(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t old = store->where[slot];

    if (old != NOWHERE) {
        log->blocks[block_of(store, old)].live -= charge(store->size[slot]);
        log->live -= charge(store->size[slot]);
    }
    if (where != NOWHERE) {
        log->blocks[block_of(store, where)].live += charge(size);
        log->live += charge(size);
    }
    fp_swap_settle(store, slot, where, size);
}

static void make_urgent(struct fp_swap *store, uint32_t block, uint8_t flags)
{
    struct fp_swap_block *b = &store->of.log.blocks[block];

    if (!(b->flags & URGENT) && b->state != FREE && b->state != BAD) {
        store->of.log.urgent++;
        b->flags |= URGENT;
    }
    b->flags |= flags;
}

/* Read bytes of a page, wherever it is now. */
static int read_page(struct fp_swap *store, uint32_t page, uint32_t offset, uint8_t *data,
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
    result = medium->read(medium->context, block,
                          page % pages_per_block(store) * program_bytes(store) + offset, data,
                          size);
    if (result > 0) {
        make_urgent(store, block, 0);
    }
    return result < 0 ? FP_SWAP_IO : FP_SWAP_OK;
}

static struct entry parse_entry(const uint8_t *at)
{
    struct entry entry;

    entry.slot = fp_swap_get32(at);
    entry.crc = fp_swap_get32(at + 4);
    entry.size = fp_swap_get16(at + 8);
    entry.stored = fp_swap_get16(at + 10);
    return entry;
}

static struct entry get_entry(const struct fp_swap *store, const struct directory *directory,
                              uint32_t index)
{
    return parse_entry(directory->page + program_bytes(store) - TRAILER -
                       ENTRY * (index + 1u));
}

static struct directory head_directory(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct directory directory;

    directory.page = log->head;
    directory.base = log->page == 0 ? HEADER : 0;
    directory.count = log->count;
    directory.before = log->before;
    directory.carry = log->carry;
    directory.voids = log->voids;
    return directory;
}

/* What a trailer says; `image` is the page it is of, if that is in memory. */
static struct directory trailer_directory(const struct fp_swap *store, const uint8_t *image,
                                          const uint8_t *trailer, uint32_t page)
{
    struct directory directory;

    directory.page = image;
    directory.base = page % pages_per_block(store) == 0 ? HEADER : 0;
    directory.count = fp_swap_get16(trailer + 8);
    directory.before = fp_swap_get16(trailer + 10);
    directory.carry = fp_swap_get16(trailer + 12);
    directory.voids = 0;
    if (directory.before & VOID) {
        directory.before = (uint16_t)(directory.before & ~VOID);
        directory.voids = directory.carry;
        directory.carry = 0;
    }
    return directory;
}

static struct directory page_directory(const struct fp_swap *store, const uint8_t *image,
                                       uint32_t page)
{
    return trailer_directory(store, image, image + program_bytes(store) - TRAILER, page);
}

/* Where a page's payload ends. */
static uint32_t payload_end(const struct fp_swap *store, const struct directory *directory)
{
    return program_bytes(store) - TRAILER - ENTRY * directory->count;
}

static uint32_t payload_begin(const struct directory *directory)
{
    return directory->base + NAME * directory->before;
}

/* The CRC over a page's directory: its place in the block, the list of the page
 * before, entries and trailer. */
static uint32_t directory_crc(const struct fp_swap *store, const struct directory *directory,
                              uint32_t page)
{
    uint32_t end = payload_end(store, directory);
    uint8_t place_in_block[4];
    uint32_t crc;

    fp_swap_put32(place_in_block, page % pages_per_block(store));
    crc = fp_swap_crc(store, 0, place_in_block, sizeof(place_in_block));
    crc = fp_swap_crc(store, crc, directory->page + directory->base,
                      (size_t)(NAME * directory->before));
    crc = fp_swap_crc(store, crc, directory->page + end, (size_t)(ENTRY * directory->count));
    return fp_swap_crc(store, crc, directory->page + program_bytes(store) - TRAILER + 4,
                       (size_t)TRAILER - 4u);
}

/* The CRC over all that stands before a page's entries. It is looked at only where a
 * power cut may have torn the page: of other wrong bytes each record's CRC says whose they
 * are. */
static uint32_t content_crc(const struct fp_swap *store, const struct directory *directory)
{
    return fp_swap_crc(store, 0, directory->page, payload_end(store, directory));
}

/* Whether a page in memory has a directory that can be followed. */
static bool is_directory(const struct fp_swap *store, const struct directory *directory,
                         uint32_t page)
{
    uint32_t entries = entries_per_page(store);
    uint32_t end;
    uint32_t at;
    uint32_t index;

    if (directory->count > entries ||
        directory->before > entries ||
        directory->carry > program_bytes(store)) {
        return false;
    }
    end = payload_end(store, directory);
    at = payload_begin(directory) + directory->carry;
    if (at > end ||
        directory_crc(store, directory, page) !=
            fp_swap_get32(directory->page + program_bytes(store) - TRAILER)) {
        return false;
    }
    for (index = 0; index < directory->count; index++) {
        struct entry entry = get_entry(store, directory, index);

        if (entry.size != FP_SWAP_SIZE_LOST &&
            (entry.stored != stored_of(entry.size) ||
             (entry.size != FP_SWAP_SIZE_SAME && entry.size > store->config->page_bytes))) {
            return false;
        }
        at += entry.stored;
        /* Only the last one may go on in the next page. */
        if (entry.stored > store->config->page_bytes ||
            (at > end && index + 1u < directory->count)) {
            return false;
        }
    }
    return true;
}

/* Have a whole page in the cache. FP_SWAP_CORRUPT if it has no directory. */
static int load(struct fp_swap *store, uint32_t page, struct directory *directory)
{
    struct fp_swap_log_state *log = &store->of.log;
    int error;

    if (log->cached != page) {
        log->cached = NOWHERE;
        error = read_page(store, page, 0, log->cache, program_bytes(store));
        if (error) {
            return FP_SWAP_CORRUPT;
        }
        log->cached = page;
    }
    *directory = page_directory(store, log->cache, page);
    return is_directory(store, directory, page) ? FP_SWAP_OK : FP_SWAP_CORRUPT;
}

static uint32_t sequence_in(const struct fp_swap *store, const struct directory *directory)
{
    return fp_swap_get32(directory->page + program_bytes(store) - TRAILER + 4);
}

static uint16_t epoch_in(const struct fp_swap *store, const struct directory *directory)
{
    return fp_swap_get16(directory->page + program_bytes(store) - TRAILER + 14);
}

/* load() a page that belongs to what its block holds now. */
static int load_own(struct fp_swap *store, uint32_t page, struct directory *directory)
{
    const struct fp_swap_block *block = &store->of.log.blocks[page / pages_per_block(store)];
    int error = load(store, page, directory);

    if (!error && (sequence_in(store, directory) != block->sequence ||
                   epoch_in(store, directory) != (uint16_t)store->of.log.epoch)) {
        error = FP_SWAP_CORRUPT;
    }
    return error;
}

/* Pages from `page` on, itself included, that a record with `stored` bytes at
 * `offset` of it takes. */
static uint32_t extent(const struct fp_swap *store, const struct directory *directory,
                       uint32_t offset, uint32_t stored)
{
    uint32_t room = payload_end(store, directory) - offset;
    uint32_t pages = 1;
    uint32_t base = NAME * directory->count;

    while (stored > room) {
        stored -= room;
        room = program_bytes(store) - TRAILER - base;
        base = 0;
        pages++;
    }
    return pages;
}

/* Take the next bytes of a source. What cannot be read becomes zeros: whoever does not
 * look at the error leaves it to the record's CRC. */
static int take(struct fp_swap *store, struct source *source, uint8_t *data, uint32_t size)
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
            source->end = program_bytes(store) - TRAILER;
            source->base = 0;
            continue;
        }
        n = n < size ? n : size;
        error = read_page(store, source->page, source->offset, data, n);
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

/* Begin a page in head; the names of the page before stand at its end. */
static void begin_page(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t base = log->page == 0 ? HEADER : 0;
    uint32_t names = NAME * log->before;

    memmove(log->head + base, log->head + program_bytes(store) - names, names);
    log->fill = base + names;
    log->count = 0;
    log->carry = 0;
    log->carrier = NOWHERE;
}

/* Put the names of the records that begin in head at its end. */
static void gather_names(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct directory directory = head_directory(store);
    uint32_t index;

    for (index = 0; index < log->count; index++) {
        struct entry entry = get_entry(store, &directory, index);

        fp_swap_put32(log->head + program_bytes(store) - NAME * (index + 1u), entry.slot);
    }
    log->before = log->count;
    log->voids = 0;
}

/* Program head. */
static int flush(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint8_t *trailer = log->head + program_bytes(store) - TRAILER;
    struct directory directory = head_directory(store);
    uint32_t end = payload_end(store, &directory);

    memset(log->head + log->fill, 0xff, end - log->fill);
    fp_swap_put32(trailer + 4, log->sequence);
    fp_swap_put16(trailer + 8, log->count);
    fp_swap_put16(trailer + 10, (uint16_t)(log->before | (log->voids ? VOID : 0u)));
    fp_swap_put16(trailer + 12, log->voids ? log->voids : log->carry);
    fp_swap_put16(trailer + 14, (uint16_t)log->epoch);
    fp_swap_put32(trailer + 16, content_crc(store, &directory));
    fp_swap_put32(trailer, directory_crc(store, &directory, log->page));
    if (medium->program(medium->context, log->block, log->page * program_bytes(store), log->head,
                        program_bytes(store)) < 0) {
        return FAILED;
    }
    store->stat.programmed_size += program_bytes(store);
    gather_names(store);
    log->page++;
    if (log->page < pages_per_block(store)) {
        begin_page(store);
    }
    return FP_SWAP_OK;
}

/* A number for everything that must be equal for a medium to be understood. */
static uint32_t shape(const struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    uint8_t bytes[24];

    fp_swap_put32(bytes, VERSION);
    fp_swap_put32(bytes + 4, store->config->page_bytes);
    fp_swap_put32(bytes + 8, store->config->slot_count);
    fp_swap_put32(bytes + 12, medium->program_bytes);
    fp_swap_put32(bytes + 16, medium->block_bytes);
    fp_swap_put32(bytes + 20, medium->block_count);
    return fp_swap_crc(store, 0, bytes, sizeof(bytes));
}

static bool is_head_dirty(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    return log->block != NOWHERE && log->page < pages_per_block(store) &&
           (log->count > 0 || log->carry > 0);
}

/* Sequence of the oldest block that leans on its successor; NOWHERE. */
static uint32_t oldest_leaning(const struct fp_swap *store)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t oldest = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        if ((blocks[block].flags & LEANS) && blocks[block].sequence < oldest) {
            oldest = blocks[block].sequence;
        }
    }
    return oldest;
}

/* The least worn free block: one whose data has long been superseded if there is one, and
 * the oldest one that leans on its successor before all. */
static uint32_t choose_next(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t leaning = oldest_leaning(store);
    uint32_t best = NOWHERE;
    uint8_t best_rank = 0;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint8_t rank = b->flags & RECENT ? 4u : 0u;

        if (b->state != FREE) {
            continue;
        }
        /* Younger ones may be what it leans on. */
        rank |= b->sequence > leaning ? 2u : b->flags & LEANS ? 0u : 1u;
        if (best == NOWHERE || rank < best_rank ||
            (rank == best_rank && b->erases < log->blocks[best].erases)) {
            best = block;
            best_rank = rank;
        }
    }
    return best;
}

static int make_bad(struct fp_swap *store, uint32_t block)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_block *b = &store->of.log.blocks[block];

    if (b->flags & URGENT) {
        store->of.log.urgent--;
    }
    b->state = BAD;
    b->flags = 0;
    store->stat.bad_blocks++;
    if (medium->mark_bad(medium->context, block) < 0) {
        /* A mount will read what it holds. */
        return FP_SWAP_IO;
    }
    b->sequence = 0;
    return FP_SWAP_OK;
}

/* Go on in a fresh block. What head held has been programmed, or is being rescued. */
static int open_block(struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b;
    uint8_t *header = log->head;
    uint32_t block;
    int error;

    for (;;) {
        block = log->next != NOWHERE ? log->next : choose_next(store);
        log->next = NOWHERE;
        if (block == NOWHERE) {
            return FP_SWAP_FULL;
        }
        b = &log->blocks[block];
        log->free--;
        store->stat.erases++;
        b->erases++;
        if (medium->erase(medium->context, block) >= 0) {
            break;
        }
        error = make_bad(store, block);
        if (error) {
            return error;
        }
    }
    if (log->block != NOWHERE && log->page > 0) {
        if (log->blocks[log->block].state == HEAD) {
            log->blocks[log->block].state = CLOSED;
            log->blocks[log->block].pages = (uint16_t)log->page;
        }
        log->last_pages = (uint16_t)log->page;
        log->last_block = log->block;
        log->last_sequence = log->blocks[log->block].sequence;
    }
    if (!log->rescuing) {
        uint32_t i;

        for (i = 0; i < medium->block_count; i++) {
            log->blocks[i].flags &= (uint8_t)~RECENT;
        }
    }
    log->block = block;
    log->page = 0;
    if (log->cached / pages_per_block(store) == block) {
        log->cached = NOWHERE;
    }
    b->sequence = ++log->sequence;
    b->live = 0;
    b->pages = 0;
    b->state = HEAD;
    b->flags = 0;
    log->next = choose_next(store);
    begin_page(store);
    fp_swap_put32(header, MAGIC);
    fp_swap_put32(header + 8, log->epoch);
    fp_swap_put32(header + 12, log->sequence);
    fp_swap_put32(header + 16, b->erases);
    fp_swap_put32(header + 20, log->next);
    fp_swap_put32(header + 24, log->next == NOWHERE ? 0 : log->blocks[log->next].erases + 1u);
    fp_swap_put16(header + 28, log->last_pages);
    fp_swap_put16(header + 30, 0xffffu);
    fp_swap_put32(header + 32, log->last_block);
    fp_swap_put32(header + 36, log->last_sequence);
    fp_swap_put32(header + 4, shape(store));
    fp_swap_put32(header + 40, fp_swap_crc(store, 0, header, HEADER - 4u));
    return FP_SWAP_OK;
}

/* Write a record to the head, from its beginning. FAILED: a program failed, and head
 * is still there. */
static int try_append(struct fp_swap *store, uint32_t slot, const struct entry *entry,
                      struct source source, uint32_t *where)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t left = entry->stored;
    bool carried = false;
    struct directory directory;
    uint8_t *at;
    int error;

    for (;;) {
        if (log->block == NOWHERE || log->page == pages_per_block(store)) {
            error = open_block(store);
            if (error) {
                return error;
            }
        }
        directory = head_directory(store);
        directory.count++;
        if (log->page + 1u == pages_per_block(store) ||
            directory.count > entries_per_page(store) ||
            log->fill > payload_end(store, &directory)) {
            error = flush(store);
        } else if (log->page + extent(store, &directory, log->fill, left) <=
                   pages_per_block(store)) {
            break;
        } else if (is_head_dirty(store) || log->before > 0) {
            error = flush(store);
        } else {
            error = open_block(store);
        }
        if (error) {
            return error;
        }
    }
    at = log->head + payload_end(store, &directory);
    fp_swap_put32(at, slot);
    fp_swap_put32(at + 4, entry->crc);
    fp_swap_put16(at + 8, entry->size);
    fp_swap_put16(at + 10, entry->stored);
    *where = where_of(store, head_page(store), log->count);
    log->count++;
    while (left > 0) {
        uint32_t room;
        uint32_t n;

        directory = head_directory(store);
        room = payload_end(store, &directory) - log->fill;
        if (room == 0) {
            error = flush(store);
            if (error) {
                return error;
            }
            log->carrier = slot;
            log->carrier_at = *where;
            carried = true;
            continue;
        }
        n = left < room ? left : room;
        (void)take(store, &source, log->head + log->fill, n);
        log->fill += n;
        log->carry = (uint16_t)(log->carry + (carried ? n : 0u));
        left -= n;
    }
    return FP_SWAP_OK;
}

static int move(struct fp_swap *store, uint32_t where, const struct directory *directory,
                uint32_t offset, const struct entry *entry);
static int lose(struct fp_swap *store, uint32_t slot);

/* Where the index-th record of a page begins. */
static uint32_t offset_of(const struct fp_swap *store, const struct directory *directory,
                          uint32_t index)
{
    uint32_t offset = payload_begin(directory) + directory->carry;
    uint32_t i;

    for (i = 0; i < index; i++) {
        offset += get_entry(store, directory, i).stored;
    }
    return offset;
}

/* Write to the head once more a record that stands at `where`, if the slot's is that
 * one. */
static int move_again(struct fp_swap *store, uint32_t slot, uint32_t where)
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
        return lose(store, slot);
    }
    if (page == log->cached) {
        directory = page_directory(store, log->cache, page);
        if (index >= directory.count || directory.count > entries_per_page(store)) {
            return lose(store, slot);
        }
        entry = get_entry(store, &directory, index);
        offset = offset_of(store, &directory, index);
        return entry.slot == slot && offset <= payload_end(store, &directory)
                   ? move(store, where, &directory, offset, &entry)
                   : lose(store, slot);
    }
    /* The cache must stay: go through the page's entries one by one. */
    if (read_page(store, page, program_bytes(store) - TRAILER, tail, TRAILER)) {
        return FP_SWAP_IO;
    }
    directory = trailer_directory(store, NULL, tail, page);
    offset = payload_begin(&directory) + directory.carry;
    for (i = 0;; i++) {
        if (read_page(store, page, program_bytes(store) - TRAILER - ENTRY * (i + 1u), tail,
                      ENTRY)) {
            return FP_SWAP_IO;
        }
        entry = parse_entry(tail);
        if (i == index) {
            break;
        }
        offset += entry.stored;
    }
    if (index >= directory.count || directory.count > entries_per_page(store) ||
        entry.slot != slot || offset > payload_end(store, &directory)) {
        /* A wrong byte among them: reading will say so. */
        return lose(store, slot);
    }
    return move(store, where, &directory, offset, &entry);
}

/* The head's block takes no more. */
static void retire_head(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;

    if (log->blocks[log->block].state == HEAD) {
        log->blocks[log->block].state = CLOSED;
        log->blocks[log->block].pages = (uint16_t)log->page;
        make_urgent(store, log->block, RETIRED);
    }
}

/* There is no block left for what was in a page that could not be programmed. */
static void forsake(struct fp_swap *store, uint32_t page, const struct directory *directory,
                    uint32_t carrier, uint32_t carrier_at)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t index;

    for (index = 0; index < directory->count; index++) {
        uint32_t slot = get_entry(store, directory, index).slot;

        if (store->where[slot] == where_of(store, page, index)) {
            place(store, slot, NOWHERE, FP_SWAP_SIZE_LOST);
        }
    }
    if (carrier != NOWHERE && store->where[carrier] == carrier_at) {
        place(store, carrier, NOWHERE, FP_SWAP_SIZE_LOST);
    }
    retire_head(store);
    if (log->page > 0) {
        log->last_pages = (uint16_t)log->page;
        log->last_block = log->block;
        log->last_sequence = log->blocks[log->block].sequence;
    }
    log->block = NOWHERE;
    log->page = 0;
}

/* The head's page could not be programmed: its block takes no more, what is in head
 * goes into another one. The page stays in the cache meanwhile, as if it had been
 * programmed and could be read. */
static int rescue(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page = head_page(store);
    uint32_t carrier = log->carrier;
    uint32_t carrier_at = log->carrier_at;
    struct directory directory = head_directory(store);
    struct directory failed;
    uint32_t index;
    int error;

    memcpy(log->cache, log->head, program_bytes(store));
    directory.page = log->cache;
    log->cached = page;
    log->rescuing = true;
    do {
        retire_head(store);
        /* Of the last page that was programmed. */
        log->before = directory.before;
        log->voids = directory.voids;
        memcpy(log->head + program_bytes(store) - NAME * directory.before,
               directory.page + directory.base, (size_t)(NAME * directory.before));
        error = open_block(store);
        if (!error && carrier != NOWHERE) {
            error = move_again(store, carrier, carrier_at);
        }
        for (index = 0; index < directory.count && !error; index++) {
            error = move_again(store, get_entry(store, &directory, index).slot,
                               where_of(store, page, index));
        }
        if (error != FAILED) {
            break;
        }
        /* This one failed, too. What it holds in head stands in the first page still. */
        failed = head_directory(store);
        for (index = 0; index < (uint32_t)failed.count + 1u; index++) {
            uint32_t slot = index < failed.count ? get_entry(store, &failed, index).slot
                                                 : log->carrier;
            uint32_t where = index < failed.count
                                 ? where_of(store, head_page(store), index)
                                 : log->carrier_at;
            uint32_t from = slot == carrier ? carrier_at : NOWHERE;
            uint32_t i;

            if (slot == NOWHERE || store->where[slot] != where) {
                continue;
            }
            for (i = 0; i < directory.count; i++) {
                if (get_entry(store, &directory, i).slot == slot) {
                    from = where_of(store, page, i);
                }
            }
            place(store, slot, from, store->size[slot]);
        }
    } while (error == FAILED);
    log->rescuing = false;
    log->cached = NOWHERE;
    if (error) {
        forsake(store, page, &directory, carrier, carrier_at);
    }
    return error;
}

/* Write a record to the log, whatever fails. */
static int append(struct fp_swap *store, uint32_t slot, const struct entry *entry,
                  const struct source *source, uint32_t *where)
{
    int error;

    while ((error = try_append(store, slot, entry, *source, where)) == FAILED &&
           !store->of.log.rescuing) {
        error = rescue(store);
        if (error) {
            break;
        }
    }
    return error;
}

/* Write to the head a record that stands elsewhere. */
static int move(struct fp_swap *store, uint32_t where, const struct directory *directory,
                uint32_t offset, const struct entry *entry)
{
    struct entry copy = *entry;
    struct source source;
    uint32_t to;
    int error;

    if (store->size[copy.slot] == FP_SWAP_SIZE_LOST || copy.size != store->size[copy.slot] ||
        page_of(store, where) % pages_per_block(store) +
                extent(store, directory, offset, copy.stored) >
            pages_per_block(store)) {
        copy.size = FP_SWAP_SIZE_LOST;
        copy.stored = 0;
    }
    source.data = NULL;
    source.page = page_of(store, where);
    source.offset = offset;
    source.end = payload_end(store, directory);
    source.base = NAME * directory->count;
    error = append(store, copy.slot, &copy, &source, &to);
    if (!error) {
        place(store, copy.slot, to, copy.size);
        store->stat.moved_size += copy.stored;
    }
    return error;
}

/* Program what is in head. */
static int sync_head(struct fp_swap *store)
{
    int error = FP_SWAP_OK;

    while (!error && is_head_dirty(store)) {
        error = flush(store);
        if (error == FAILED) {
            error = rescue(store);
        }
    }
    return error;
}

/* Whether no other block can hold an older record than this one does. */
static bool is_oldest(const struct fp_swap *store, uint32_t block)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t i;

    for (i = 0; i < store->config->medium->block_count; i++) {
        if (blocks[i].sequence != 0 && blocks[i].sequence < blocks[block].sequence) {
            return false;
        }
    }
    return true;
}

/* Let the log say that a slot's page is lost; or free, if that is what was lost. */
static int lose(struct fp_swap *store, uint32_t slot)
{
    struct source nothing = {NULL, 0, 0, 0, 0};
    struct entry entry = {0, 0, FP_SWAP_SIZE_LOST, 0};
    uint32_t where;
    int error;

    if (store->size[slot] == FP_SWAP_SIZE_NONE) {
        entry.size = FP_SWAP_SIZE_NONE;
    }
    error = append(store, slot, &entry, &nothing, &where);
    if (!error) {
        place(store, slot, where, entry.size);
    }
    return error;
}

/* Lose what is left in a block whose directories cannot be read. */
static int lose_rest(struct fp_swap *store, uint32_t block)
{
    uint32_t slot;
    int error = FP_SWAP_OK;

    for (slot = 0; slot < store->config->slot_count && !error &&
                   store->of.log.blocks[block].live > 0;
         slot++) {
        uint32_t where = store->where[slot];

        if (where != NOWHERE && block_of(store, where) == block) {
            error = lose(store, slot);
        }
    }
    return error;
}

/* Move a page's live records to the head. */
static int collect_page(struct fp_swap *store, uint32_t page, bool oldest)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct directory directory;
    uint32_t index;
    uint32_t offset = 0;

    for (index = 0;; index++) {
        struct entry entry;
        int error;

        /* A rescue may have used the cache. */
        if ((index == 0 || log->cached != page) && load_own(store, page, &directory)) {
            return FP_SWAP_OK;
        }
        if (index == directory.count) {
            return FP_SWAP_OK;
        }
        if (index == 0) {
            offset = payload_begin(&directory) + directory.carry;
        }
        entry = get_entry(store, &directory, index);
        error = FP_SWAP_OK;
        if (entry.slot < store->config->slot_count &&
            store->where[entry.slot] == where_of(store, page, index)) {
            if (oldest && store->size[entry.slot] == FP_SWAP_SIZE_NONE) {
                place(store, entry.slot, NOWHERE, FP_SWAP_SIZE_NONE);
            } else {
                error = move(store, where_of(store, page, index), &directory, offset, &entry);
            }
        }
        if (error) {
            return error;
        }
        offset += entry.stored;
    }
}

static int collect(struct fp_swap *store, uint32_t block);

/* Empty and erase the blocks that lean on one with this sequence: what does not count in
 * them could be taken up when that one is there no more. */
static int erase_leaning(struct fp_swap *store, uint32_t sequence)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t block;

    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        int error = FP_SWAP_OK;

        if (!(b->flags & LEANS) || b->sequence >= sequence) {
            continue;
        }
        if (b->state == CLOSED) {
            error = collect(store, block);
        }
        if (!error) {
            error = sync_head(store);
        }
        if (error) {
            return error;
        }
        if (!(b->flags & LEANS)) {
            continue; /* opened or marked bad meanwhile */
        }
        store->stat.erases++;
        b->erases++;
        b->flags = 0;
        b->sequence = 0;
        if (medium->erase(medium->context, block) < 0) {
            log->free--;
            error = make_bad(store, block);
            if (error) {
                return error;
            }
        }
    }
    return FP_SWAP_OK;
}

/* Make a closed block free. */
static int collect(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block];
    bool oldest = is_oldest(store, block);
    uint32_t page;
    int error;

    for (page = 0; page < b->pages && b->live > 0; page++) {
        error = collect_page(store, block * pages_per_block(store) + page, oldest);
        if (error) {
            return error;
        }
    }
    error = lose_rest(store, block);
    if (error) {
        return error;
    }
    if (b->flags & RETIRED) {
        /* What is bad is not looked at by a mount. */
        error = sync_head(store);
        if (!error) {
            error = erase_leaning(store, b->sequence);
        }
        return error ? error : make_bad(store, block);
    }
    if (b->flags & URGENT) {
        log->urgent--;
    }
    b->state = FREE;
    b->flags = (uint8_t)((b->flags & LEANS) | RECENT);
    log->free++;
    return FP_SWAP_OK;
}

/* The block to collect: where most is gained for the least moved, longest left alone
 * (cost-benefit of Rosenblum and Ousterhout, 1992), less worn ones first. `greedy`:
 * where most is gained. */
static uint32_t victim(const struct fp_swap *store, bool greedy, uint32_t mean_erases)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t best = NOWHERE;
    uint64_t best_score = 0;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint32_t dead = usable(store) > b->live ? usable(store) - b->live : 0;
        uint64_t score = dead;

        if (b->state != CLOSED) {
            continue;
        }
        if (!greedy) {
            /* In blocks; a turn of the medium more, so that what is merely young is not
             * kept from its turn. */
            uint32_t age =
                log->sequence - b->sequence + store->config->medium->block_count;
            uint32_t young = b->erases < mean_erases ? mean_erases - b->erases : 0;

            score = score * 256u / (usable(store) + b->live) * age;
            score += score * (young < 16u ? young : 16u) / 4u;
        }
        if (score > best_score) {
            best_score = score;
            best = block;
        }
    }
    return best;
}

static uint32_t mean_erases(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t count = store->config->medium->block_count;
    uint64_t sum = 0;
    uint32_t block;

    for (block = 0; block < count; block++) {
        sum += log->blocks[block].erases;
    }
    return (uint32_t)(sum / count);
}

/* A closed block in any of the given states of urgency, or one that lies still while
 * others wear out: that is moved, so that its block takes part. */
static uint32_t special_victim(const struct fp_swap *store, uint32_t mean)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint32_t urgent = NOWHERE;
    uint32_t best = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];

        if (b->state != CLOSED) {
            continue;
        }
        if ((b->flags & URGENT) &&
            (urgent == NOWHERE || b->sequence < log->blocks[urgent].sequence)) {
            urgent = block;
        }
        if (b->erases + 1u + mean / 16u < mean &&
            (best == NOWHERE || b->erases < log->blocks[best].erases)) {
            best = block;
        }
    }
    return urgent != NOWHERE ? urgent : best;
}

/* Have enough free blocks for a record. */
static int make_room(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t goal = FREE_BLOCKS;
    uint32_t tries = 0;
    uint32_t mean;
    uint32_t block;
    int error;

    if (log->free >= FREE_BLOCKS && log->urgent == 0) {
        return FP_SWAP_OK;
    }
    mean = mean_erases(store);
    if (log->free < FREE_BLOCKS) {
        uint32_t spare = reserve(store) - FP_SWAP_LOG_RESERVE;

        goal += spare < BATCH ? spare : BATCH;
    }
    while (log->free < goal) {
        block = victim(store, tries > FREE_BLOCKS, mean);
        if (block == NOWHERE || tries++ > 2u * store->config->medium->block_count) {
            if (log->free < FREE_BLOCKS) {
                return FP_SWAP_FULL;
            }
            break;
        }
        error = collect(store, block);
        if (error) {
            return error;
        }
    }
    block = special_victim(store, mean);
    return block == NOWHERE ? FP_SWAP_OK : collect(store, block);
}

/* A record that a power cut left unfinished at the end of the log does not count, as long
 * as the next block says so. Supersede it by what the slot holds, as the first thing
 * written there, so that it never does. */
static int undo(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot = log->undone;
    int error;

    if (slot >= store->config->slot_count) {
        return FP_SWAP_OK;
    }
    error = store->where[slot] == NOWHERE ? lose(store, slot)
                                          : move_again(store, slot, store->where[slot]);
    if (!error) {
        log->undone = NOWHERE;
    }
    return error;
}

/* A mount could not say what some slots held, and what tells the next one so may be gone by
 * then: write that they are lost, as far as there is room. */
static int keep_lost(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t slot;

    for (slot = 0; log->doubted && slot < store->config->slot_count; slot++) {
        int error = FP_SWAP_OK;

        if (store->size[slot] != FP_SWAP_SIZE_LOST) {
            continue;
        }
        if (store->where[slot] == NOWHERE && log->live + CHARGE > live_limit(store)) {
            break;
        }
        error = make_room(store);
        if (!error) {
            error = lose(store, slot);
        }
        if (error) {
            return error;
        }
    }
    log->doubted = false;
    return FP_SWAP_OK;
}

/* Append a record with a slot's new content and let it count. */
static int put_entry(struct fp_swap *store, const struct entry *entry, const uint8_t *data)
{
    struct source source = {NULL, 0, 0, 0, 0};
    uint32_t where;
    int error;

    error = undo(store);
    if (!error) {
        error = keep_lost(store);
    }
    if (!error) {
        error = make_room(store);
    }
    if (error) {
        return error;
    }
    source.data = data;
    error = append(store, entry->slot, entry, &source, &where);
    if (!error) {
        place(store, entry->slot, where, entry->size);
    }
    return error;
}

static int put(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
               const uint8_t *data)
{
    uint32_t old = store->where[slot] == NOWHERE ? 0 : charge(store->size[slot]);
    uint8_t word[4];
    struct entry entry;
    int error;

    /* What takes no more than before is never refused: a mount finds tombstones again that
     * were given up, so there may be more than the limit. */
    if (charge(record->size) > old &&
        store->of.log.live - old + charge(record->size) > live_limit(store)) {
        return FP_SWAP_FULL;
    }
    entry.slot = slot;
    entry.crc = record->crc;
    entry.size = record->size;
    entry.stored = stored_of(record->size);
    if (record->size == FP_SWAP_SIZE_SAME) {
        fp_swap_put32(word, record->word);
        data = word;
    }
    error = put_entry(store, &entry, data);
    if (!error) {
        store->stat.written_size += entry.stored;
    }
    return error;
}

static int drop(struct fp_swap *store, uint32_t slot)
{
    struct entry entry = {slot, 0, FP_SWAP_SIZE_NONE, 0};

    return put_entry(store, &entry, NULL);
}

/* The bytes of the record that find() found. */
static int fetch_found(struct fp_swap *store, uint8_t *data, uint32_t size)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct source source;

    source.data = NULL;
    source.page = log->found_page;
    source.offset = log->found_offset;
    source.end = log->found_end;
    source.base = log->found_base;
    return take(store, &source, data, size);
}

static int find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page = page_of(store, store->where[slot]);
    uint32_t index = store->where[slot] % entries_per_page(store);
    struct directory directory;
    struct entry entry;
    int error;

    if (page == head_page(store)) {
        directory = head_directory(store);
    } else {
        uint32_t tail = TRAILER + ENTRY * (index + 1u);

        if (page != log->cached) {
            /* A part of a page only: it is not cached. */
            log->cached = NOWHERE;
            error = read_page(store, page, program_bytes(store) - tail,
                              log->cache + program_bytes(store) - tail, tail);
            if (error) {
                return error;
            }
        }
        directory = page_directory(store, log->cache, page);
    }
    if (index >= directory.count || directory.count > entries_per_page(store) ||
        directory.before > entries_per_page(store)) {
        return FP_SWAP_CORRUPT;
    }
    entry = get_entry(store, &directory, index);
    log->found_page = page;
    log->found_offset = offset_of(store, &directory, index);
    log->found_end = payload_end(store, &directory);
    log->found_base = NAME * directory.count;
    if (entry.slot != slot || entry.size != store->size[slot] ||
        entry.stored != stored_of(entry.size) || log->found_offset > log->found_end ||
        page % pages_per_block(store) +
                extent(store, &directory, log->found_offset, entry.stored) >
            pages_per_block(store)) {
        return FP_SWAP_CORRUPT;
    }
    record->size = entry.size;
    record->crc = entry.crc;
    record->word = 0;
    if (entry.size == FP_SWAP_SIZE_SAME) {
        uint8_t word[4];

        error = fetch_found(store, word, sizeof(word));
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

static int fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data)
{
    (void)slot;
    return fetch_found(store, data, record->size);
}

static void space(const struct fp_swap *store, uint64_t *used, uint64_t *limit)
{
    /* Pages' trailers and blocks' headers in proportion. */
    uint32_t block_bytes = store->config->medium->block_bytes;

    *used = store->of.log.live * block_bytes / usable(store);
    *limit = live_limit(store) * block_bytes / usable(store);
}

static uint32_t erase_count(const struct fp_swap *store, uint32_t block)
{
    return store->of.log.blocks[block].erases;
}

static uint64_t words(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config->medium;
    uint64_t pages = medium->block_bytes / medium->program_bytes;
    uint64_t entries;

    if (!medium->erase || !medium->is_bad || !medium->mark_bad || medium->program_bytes < 128u ||
        medium->program_bytes > 32768u || pages < 2u || pages > 0xfffeu ||
        (config->reserve_blocks && config->reserve_blocks < FP_SWAP_LOG_RESERVE) ||
        medium->block_count <=
            (config->reserve_blocks ? config->reserve_blocks : FP_SWAP_LOG_RESERVE)) {
        return 0;
    }
    entries = (medium->program_bytes - TRAILER) / ENTRY;
    /* A block must have room for a page of memory behind the longest list of names. */
    if (pages * entries * medium->block_count >= NOWHERE ||
        medium->block_bytes > 0x7fffffffu ||
        pages * (medium->program_bytes - TRAILER - ENTRY) <
            (uint64_t)config->page_bytes + HEADER + CHARGE + NAME * entries) {
        return 0;
    }
    return (uint64_t)medium->block_count * (FP_SWAP_BLOCK_BYTES / 4u) +
           2u * (((uint64_t)medium->program_bytes + 3u) / 4u);
}

/* A block's header as it is on the medium. */
struct header {
    uint32_t epoch;
    uint32_t sequence;
    uint32_t erases;
    uint32_t next;
    uint32_t next_erases;
    uint32_t last_block;
    uint32_t last_sequence;
    uint16_t last_pages;
};

static bool read_header(struct fp_swap *store, uint32_t block, struct header *header)
{
    uint8_t bytes[HEADER_BYTES];

    if (read_page(store, block * pages_per_block(store), 0, bytes, HEADER) ||
        fp_swap_get32(bytes) != MAGIC || fp_swap_get32(bytes + 4) != shape(store) ||
        fp_swap_get32(bytes + 40) != fp_swap_crc(store, 0, bytes, HEADER - 4u)) {
        return false;
    }
    header->epoch = fp_swap_get32(bytes + 8);
    header->sequence = fp_swap_get32(bytes + 12);
    header->erases = fp_swap_get32(bytes + 16);
    header->next = fp_swap_get32(bytes + 20);
    header->next_erases = fp_swap_get32(bytes + 24);
    header->last_pages = fp_swap_get16(bytes + 28);
    header->last_block = fp_swap_get32(bytes + 32);
    header->last_sequence = fp_swap_get32(bytes + 36);
    return header->sequence != 0 && header->sequence != NOWHERE;
}

static bool is_blank(struct fp_swap *store, uint32_t page)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t i;

    log->cached = NOWHERE;
    if (read_page(store, page, 0, log->cache, program_bytes(store))) {
        return false;
    }
    for (i = 0; i < program_bytes(store); i++) {
        if (log->cache[i] != 0xff) {
            return false;
        }
    }
    return true;
}

/* Read all headers: which blocks hold what, and how worn they are. Gives the newest
 * header and its block, NOWHERE if there is none. A block's `pages` is the low half
 * of its epoch for now. */
static uint32_t survey(struct fp_swap *store, struct header *newest)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t newest_block = NOWHERE;
    uint32_t known = 0;
    uint64_t sum = 0;
    bool settled;
    uint32_t block;

    memset(newest, 0, sizeof(*newest));
    newest->next = NOWHERE;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct header header;

        memset(b, 0, sizeof(*b));
        if (medium->is_bad(medium->context, block)) {
            b->state = BAD;
            store->stat.bad_blocks++;
        } else if (read_header(store, block, &header)) {
            b->sequence = header.sequence;
            b->erases = header.erases;
            b->pages = (uint16_t)header.epoch;
            sum += header.erases;
            known++;
            if (newest_block == NOWHERE || header.sequence > newest->sequence) {
                *newest = header;
                newest_block = block;
            }
        }
    }
    /* The next block has not been touched: nor may another one, taken in its place, be half
     * erased. */
    settled = newest->next < medium->block_count && log->blocks[newest->next].sequence != 0;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct directory directory;
        bool blank;
        uint32_t page;

        if (b->state == BAD || b->sequence != 0) {
            continue;
        }
        blank = is_blank(store, block * pages_per_block(store));
        if (block == newest->next) {
            b->erases = newest->next_erases;
        } else {
            /* A blank one is new, unless all have been used: then a power cut has erased
             * what says otherwise. */
            uint32_t mean = known ? (uint32_t)(sum / known) : 0;

            b->erases = mean > 1u || !blank ? mean : 0;
        }
        /* Its header cannot be read; what follows may say whose it is. */
        for (page = 0; page < (settled && !blank ? pages_per_block(store) : 2u) &&
                       b->sequence == 0;
             page++) {
            if (!load(store, block * pages_per_block(store) + page, &directory)) {
                b->sequence = sequence_in(store, &directory);
                b->pages = epoch_in(store, &directory);
            }
        }
    }
    return newest_block;
}

/* Pages in use of a block, where no header says so: up to the last that can be read. */
static uint16_t count_pages(struct fp_swap *store, uint32_t block)
{
    struct directory directory;
    uint32_t pages = pages_per_block(store);

    while (pages > 0 && load_own(store, block * pages_per_block(store) + pages - 1u, &directory)) {
        pages--;
    }
    return (uint16_t)pages;
}

/* A record's place in the order of all records. */
static uint64_t order_of(const struct fp_swap *store, uint32_t where)
{
    return (uint64_t)store->of.log.blocks[block_of(store, where)].sequence << 32 | where;
}

/* Let a record count, unless the slot has a newer one. */
static void propose(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size)
{
    if (slot < store->config->slot_count &&
        (store->where[slot] == NOWHERE ||
         order_of(store, store->where[slot]) < order_of(store, where))) {
        place(store, slot, where, size);
    }
}

/* Pages in a row that cannot be read, while a block is scanned. */
struct gap {
    uint32_t first;    /* NOWHERE: none */
    uint64_t doubtful; /* records before this order may be outdated by unknown ones */
};

/* Whether what followed the last readable page was lost, and not void; `page` and its
 * directory come after the gap. */
static bool is_lost(const struct gap *gap, uint32_t page, const struct directory *directory)
{
    return gap->first != NOWHERE && page > gap->first + directory->voids;
}

static void doubt(const struct fp_swap *store, struct gap *gap, uint32_t page)
{
    uint64_t order = order_of(store, where_of(store, page, entries_per_page(store) - 1u));

    gap->doubtful = order > gap->doubtful ? order : gap->doubtful;
}

/* The page after a gap names what was in the last page of it. Of those before that
 * one, nothing is known. */
static void close_gap(struct fp_swap *store, struct gap *gap, uint32_t page,
                      const struct directory *directory)
{
    uint32_t index;

    if (is_lost(gap, page, directory)) {
        uint32_t lost = page - 1u - directory->voids;

        for (index = 0; index < directory->before; index++) {
            propose(store, fp_swap_get32(directory->page + directory->base + NAME * index),
                    where_of(store, lost, index), FP_SWAP_SIZE_LOST);
        }
        if (lost > gap->first) {
            doubt(store, gap, lost - 1u);
        }
    }
    gap->first = NOWHERE;
}

/* The block that was opened after a given one. Between them there may be some whose
 * first page could not be programmed. */
static uint32_t successor(struct fp_swap *store, uint32_t block)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t other;

    for (other = 0; other < store->config->medium->block_count; other++) {
        struct header header;

        if (blocks[other].sequence > blocks[block].sequence &&
            read_header(store, other, &header) && header.last_block == block &&
            header.last_sequence == blocks[block].sequence) {
            return other;
        }
    }
    return NOWHERE;
}

/* A block of which nothing can be read: if the one that follows it says that it had one
 * page, that is lost. Of more, the second would be there. */
static void miss(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t other;

    for (other = 0; other < store->config->medium->block_count; other++) {
        struct header header;

        if (blocks[other].sequence > blocks[block].sequence &&
            read_header(store, other, &header) && header.last_block == block &&
            header.last_pages == 1u && header.last_sequence > blocks[block].sequence) {
            blocks[block].sequence = header.last_sequence;
        }
    }
}

/* What a block's header says of the one before: how many of its pages are in use, and
 * that all between them failed, whatever can be read there. */
static void heed(struct fp_swap *store, const struct header *header)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t count = store->config->medium->block_count;
    uint32_t block;

    if (header->last_block < count && header->last_pages > 0 &&
        header->last_pages <= pages_per_block(store) &&
        blocks[header->last_block].sequence == header->last_sequence) {
        blocks[header->last_block].pages = header->last_pages;
    }
    for (block = 0; block < count && header->sequence - header->last_sequence > 1u; block++) {
        if (blocks[block].sequence > header->last_sequence &&
            blocks[block].sequence < header->sequence) {
            blocks[block].pages = 0;
        }
    }
}

/* Whether the pages after a page passed over it: a power cut had torn it, though its
 * directory can be read. */
static bool is_void(struct fp_swap *store, uint32_t page, uint32_t end)
{
    uint32_t other;

    for (other = page + 1u; other < end; other++) {
        uint8_t trailer[TRAILER_BYTES];
        struct directory directory;

        if (read_page(store, other, program_bytes(store) - TRAILER, trailer, TRAILER)) {
            continue;
        }
        if (trailer_directory(store, NULL, trailer, other).voids == 0 &&
            fp_swap_get32(trailer + 4) == store->of.log.blocks[page / pages_per_block(store)].sequence) {
            return false;
        }
        if (!load_own(store, other, &directory)) {
            return directory.voids >= other - page;
        }
    }
    return false;
}

/* Take up the records of a block. The last one may end in a record that the power cut
 * hit. */
static void scan(struct fp_swap *store, uint32_t block, bool last, struct gap *gap)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t first = block * pages_per_block(store);
    uint32_t end = first + log->blocks[block].pages;
    struct entry open = {0, 0, 0, 0}; /* a record that goes on in later pages */
    uint32_t open_at = 0;
    uint32_t open_end = 0; /* the page after its last; 0: none */
    bool counted = (log->blocks[block].flags & COUNTED) != 0;
    struct directory directory;
    uint32_t page;

    gap->first = NOWHERE;
    for (page = first; page < end; page++) {
        uint32_t offset;
        uint32_t index;

        if (is_void(store, page, end) || load_own(store, page, &directory)) {
            gap->first = gap->first == NOWHERE ? page : gap->first;
            continue;
        }
        if (open_end > 0) {
            if (directory.voids > 0 && !is_lost(gap, page, &directory)) {
                open_end = 0;
            } else if (page + 1u >= open_end) {
                propose(store, open.slot, open_at, open.size);
                open_end = 0;
            }
        }
        close_gap(store, gap, page, &directory);
        offset = payload_begin(&directory) + directory.carry;
        for (index = 0; index < directory.count; index++) {
            struct entry entry = get_entry(store, &directory, index);
            uint32_t entry_end = page + extent(store, &directory, offset, entry.stored);

            offset += entry.stored;
            if (entry_end == page + 1u) {
                propose(store, entry.slot, where_of(store, page, index), entry.size);
            } else if (entry_end <= (counted ? first + pages_per_block(store) : end)) {
                open = entry;
                open_at = where_of(store, page, index);
                open_end = entry_end;
            } else if (last) {
                log->undone = entry.slot;
            }
        }
    }
    if (counted && open_end > 0) {
        /* Its last page is there no more. Had it never been, the record would have been
         * undone, or that was begun and is what the log ends in. */
        if (open.slot != log->undone) {
            propose(store, open.slot, open_at, open.size);
        }
        open_end = 0;
    }
    if (gap->first == NOWHERE) {
        return;
    }
    if (end < first + pages_per_block(store)) {
        /* A program failed, or a power cut: the next block names what was here. */
        uint32_t after = successor(store, block);

        if (after == NOWHERE || load_own(store, after * pages_per_block(store), &directory)) {
            doubt(store, gap, end - 1u);
            return;
        }
        if (open_end > 0 && is_lost(gap, end, &directory)) {
            propose(store, open.slot, open_at, open.size);
        }
        close_gap(store, gap, end, &directory);
        return;
    }
    if (open_end > 0) {
        propose(store, open.slot, open_at, open.size);
    }
    if (end - gap->first > 1u) {
        doubt(store, gap, end - 2u);
    }
}

/* Whether the last page of a block is torn although its directory can be read. */
static bool is_torn(struct fp_swap *store, uint32_t block)
{
    uint32_t page = block * pages_per_block(store) + store->of.log.blocks[block].pages - 1u;
    struct directory directory;

    return !load_own(store, page, &directory) &&
           content_crc(store, &directory) !=
               fp_swap_get32(directory.page + program_bytes(store) - TRAILER + 16);
}

/* The newest block that holds anything; NOWHERE. */
static uint32_t find_last(const struct fp_swap *store)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t last = NOWHERE;
    uint32_t block;

    for (block = 0; block < store->config->medium->block_count; block++) {
        if (blocks[block].sequence != 0 && blocks[block].pages > 0 &&
            (last == NOWHERE || blocks[block].sequence > blocks[last].sequence)) {
            last = block;
        }
    }
    return last;
}

/* The slot of the record of which a block holds the beginning and nothing else; NOWHERE if
 * it holds something else. */
static uint32_t unfinished_in(struct fp_swap *store, uint32_t block)
{
    uint32_t first = block * pages_per_block(store);
    uint32_t pages = store->of.log.blocks[block].pages;
    struct directory directory;
    uint32_t page;

    for (page = 0; page < pages; page++) {
        if (load_own(store, first + page, &directory)) {
            return NOWHERE;
        }
        if (directory.count > 0) {
            struct entry entry = get_entry(store, &directory, 0);

            uint32_t end = page + extent(store, &directory, offset_of(store, &directory, 0),
                                         entry.stored);

            return end > pages ? entry.slot : NOWHERE;
        }
    }
    return NOWHERE;
}

/* Leave out what a power cut hit at the end of the log: a torn page, and a block that then
 * holds no record. What that one says of the block before must be said again by the next
 * one, as it is free; its sequence stays, as it can be read until it is erased. Gives the
 * last block. */
static uint32_t cut_off(struct fp_swap *store)
{
    uint32_t last = find_last(store);
    bool is_whole = false;

    while (last != NOWHERE) {
        struct fp_swap_block *b = &store->of.log.blocks[last];

        if (!is_whole && is_torn(store, last)) {
            b->pages--;
            is_whole = b->pages > 0;
        }
        if (b->pages > 0) {
            uint32_t slot = unfinished_in(store, last);

            if (slot == NOWHERE) {
                break;
            }
            store->of.log.undone = slot;
        }
        b->pages = 0;
        last = find_last(store);
    }
    return last;
}

/* Go on after the last page that can be read. Pages after that one may have been hit by
 * power cuts, one by each, even if they look blank: so it goes on in another block.
 * `same`: there is none to spare, go on in the block itself if pages are left, after
 * the one that the last cut may have hit. */
static void resume(struct fp_swap *store, uint32_t block, bool same)
{
    struct fp_swap_log_state *log = &store->of.log;
    struct fp_swap_block *b = &log->blocks[block];
    uint32_t first = block * pages_per_block(store);
    uint32_t page = pages_per_block(store);
    struct directory directory;

    while (page > b->pages && is_blank(store, first + page - 1u)) {
        page--;
    }
    page = page > b->pages ? page : b->pages + 1u;
    if (!load_own(store, first + b->pages - 1u, &directory)) {
        memcpy(log->head, log->cache, program_bytes(store));
        log->count = directory.count;
        gather_names(store);
        log->count = 0;
    }
    log->cached = NOWHERE;
    if (!same || page + 1u >= pages_per_block(store)) {
        log->last_pages = b->pages;
        log->last_block = block;
        log->last_sequence = b->sequence;
        return;
    }
    log->voids = (uint16_t)(page - b->pages);
    log->free -= b->state == FREE;
    b->state = HEAD;
    b->flags &= (uint8_t)~LEANS;
    log->block = block;
    log->page = page;
    begin_page(store);
}

/* Whether only the block opened after a block says what its last page held, or that what
 * can be read behind that does not count. */
static bool leans_on_successor(struct fp_swap *store, uint32_t block)
{
    uint32_t first = block * pages_per_block(store);
    uint32_t pages = store->of.log.blocks[block].pages;
    struct directory directory;
    uint32_t page;

    if (pages == pages_per_block(store)) {
        return false;
    }
    if (pages > 0 && (load_own(store, first + pages - 1u, &directory) || directory.count > 0)) {
        return true;
    }
    for (page = pages; page < pages_per_block(store); page++) {
        if (!load_own(store, first + page, &directory)) {
            return true;
        }
    }
    return false;
}

/* Find the records that the medium holds. */
static void recover(struct fp_swap *store, const struct header *newest, uint32_t newest_block)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    struct gap gap = {NOWHERE, 0};
    uint32_t last;
    uint32_t block;
    uint32_t slot;

    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (b->state == BAD) {
            continue;
        }
        if (b->pages != (uint16_t)log->epoch ||
            (block == newest->next && b->sequence < newest->sequence)) {
            b->sequence = 0;
        }
        b->pages = 0xffffu;
        log->sequence = b->sequence > log->sequence ? b->sequence : log->sequence;
    }
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct header header;

        if (b->state != BAD && b->sequence == 0 && block != newest->next &&
            !read_header(store, block, &header) &&
            !is_blank(store, block * pages_per_block(store))) {
            miss(store, block);
            /* What can be read in it may look like a part of the log later. */
            b->flags |= b->sequence == 0 ? LEANS : 0u;
        }
    }
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct header header;

        if (b->sequence != 0 && read_header(store, block, &header)) {
            heed(store, &header);
        }
    }
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (b->sequence != 0 && b->pages == 0xffffu) {
            b->pages = count_pages(store, block);
            b->flags |= COUNTED;
        }
    }
    last = cut_off(store);
    if (last != NOWHERE) {
        log->blocks[last].flags &= (uint8_t)~COUNTED;
        scan(store, last, true, &gap);
    }
    for (block = 0; block < medium->block_count; block++) {
        if (log->blocks[block].sequence != 0 && log->blocks[block].pages > 0 && block != last) {
            scan(store, block, false, &gap);
        }
        log->blocks[block].flags &= (uint8_t)~COUNTED;
    }
    log->doubted = gap.doubtful > 0;
    for (slot = 0; slot < store->config->slot_count && log->doubted; slot++) {
        uint32_t where = store->where[slot];

        if (where == NOWHERE) {
            place(store, slot, NOWHERE, FP_SWAP_SIZE_LOST);
        } else if (order_of(store, where) < gap.doubtful) {
            place(store, slot, where, FP_SWAP_SIZE_LOST);
        }
    }
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        if (b->state != BAD) {
            b->state = b->live > 0 ? CLOSED : FREE;
            log->free += b->state == FREE;
        }
    }
    if (newest->next < medium->block_count && newest->next != last &&
        log->blocks[newest->next].state == FREE) {
        log->next = newest->next;
    }
    for (block = 0; block < medium->block_count; block++) {
        if (log->blocks[block].sequence != 0 && leans_on_successor(store, block)) {
            log->blocks[block].flags |= LEANS;
            make_urgent(store, block, 0);
        }
    }
    if (last != NOWHERE) {
        resume(store, last, last == newest_block && log->free < 2u);
    }
}

static int start(struct fp_swap *store, uint32_t *memory, bool keep)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t page_words = (medium->program_bytes + 3u) / 4u;
    struct header newest;
    uint32_t newest_block;
    uint32_t block;
    int error;

    log->blocks = (struct fp_swap_block *)memory;
    memory += (size_t)medium->block_count * (FP_SWAP_BLOCK_BYTES / 4u);
    log->head = (uint8_t *)memory;
    log->cache = (uint8_t *)(memory + (size_t)page_words);
    log->cached = NOWHERE;
    log->block = NOWHERE;
    log->next = NOWHERE;
    log->carrier = NOWHERE;
    log->last_block = NOWHERE;
    log->undone = NOWHERE;
    newest_block = survey(store, &newest);
    log->epoch = newest.epoch;
    log->sequence = newest.sequence;
    if (keep) {
        if (newest_block == NOWHERE) {
            return FP_SWAP_NO_STORE;
        }
        recover(store, &newest, newest_block);
        return FP_SWAP_OK;
    }
    log->epoch++;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];

        /* None of the blocks is anything's successor. */
        log->sequence = b->sequence > log->sequence ? b->sequence : log->sequence;
        b->sequence = 0;
        b->pages = 0;
        log->free += b->state == FREE;
    }
    if (newest.next < medium->block_count && log->blocks[newest.next].state == FREE) {
        log->next = newest.next;
    }
    error = open_block(store);
    while (!error && (error = flush(store)) == FAILED) {
        error = rescue(store);
    }
    return error;
}

/* Whether a slot's record stands where memory says. */
static const char *check_slot(struct fp_swap *store, uint32_t slot)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t where = store->where[slot];
    uint32_t page = page_of(store, where);
    uint32_t index = where % entries_per_page(store);
    const struct fp_swap_block *block;
    struct directory directory;
    struct entry entry;

    if (where == NOWHERE) {
        return store->size[slot] == FP_SWAP_SIZE_NONE || store->size[slot] == FP_SWAP_SIZE_LOST
                   ? NULL
                   : "a page is nowhere";
    }
    if (page / pages_per_block(store) >= store->config->medium->block_count) {
        return "a page is outside the medium";
    }
    block = &log->blocks[page / pages_per_block(store)];
    if (block->state != CLOSED && block->state != HEAD) {
        return "a page is in a block that is free or bad";
    }
    if (page == head_page(store)) {
        directory = head_directory(store);
    } else if (load_own(store, page, &directory)) {
        return NULL; /* unreadable: reading says so */
    }
    if (store->size[slot] == FP_SWAP_SIZE_LOST) {
        return NULL;
    }
    if (index >= directory.count) {
        return "a record is missing";
    }
    entry = get_entry(store, &directory, index);
    return entry.slot == slot && entry.size == store->size[slot] ? NULL
                                                                 : "a record is another's";
}

static const char *check(struct fp_swap *store)
{
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t count = store->config->medium->block_count;
    uint32_t free_blocks = 0;
    uint32_t bad = 0;
    uint32_t urgent = 0;
    uint64_t live = 0;
    uint32_t block;
    uint32_t slot;

    for (block = 0; block < count; block++) {
        const struct fp_swap_block *b = &log->blocks[block];
        uint32_t in_block = 0;

        for (slot = 0; slot < store->config->slot_count; slot++) {
            if (store->where[slot] != NOWHERE && block_of(store, store->where[slot]) == block) {
                in_block += charge(store->size[slot]);
            }
        }
        if (in_block != b->live) {
            return "a block's live bytes are not those of its records";
        }
        live += in_block;
        free_blocks += b->state == FREE;
        bad += b->state == BAD;
        urgent += (b->flags & URGENT) != 0;
        if (b->live > 0 && (b->state == FREE || b->state == BAD)) {
            return "a free or bad block holds live records";
        }
        if ((b->state == HEAD) != (block == log->block)) {
            return "the head is not in its block";
        }
    }
    if (live != log->live || free_blocks != log->free || bad != store->stat.bad_blocks ||
        urgent != log->urgent) {
        return "blocks or live bytes are miscounted";
    }
    if (log->next != NOWHERE && log->blocks[log->next].state != FREE) {
        return "the next block is not free";
    }
    for (slot = 0; slot < store->config->slot_count; slot++) {
        const char *wrong = check_slot(store, slot);

        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}

const struct fp_swap_layout fp_swap_log = {
    words, start, put, find, fetch, drop, sync_head, space, erase_count, check,
};
