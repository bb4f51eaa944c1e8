/*
 * The log: for NAND.
 *
 *     format.c   the bytes of headers, pages and entries on the medium
 *     read.c     reading pages, headers and records
 *     blocks.c   which block is opened next, which are bad, what is live in each
 *     append.c   writing records to the head, and the head to the medium
 *     rescue.c   the head could not be programmed: all in it goes into another block
 *     collect.c  garbage collection and wear levelling
 *     survey.c   mount and format: what the headers of all blocks say
 *     mount.c    mount: which records count, and where to go on
 *     check.c    fp_swap_check()
 *     log.c      the calls of the front
 *
 * Words: the *head* is the flash page in memory that is being filled. A *record* is what the
 * log says of a slot: its *entry* and, for a page of memory, its payload. `where` is a
 * record's place: its flash page and its index in it. The *directory* of a flash page is all
 * but the payload: its names, entries and trailer. *Names* are the slots of the records
 * that begin in the page before.
 *
 * All is written by one head. When a block is opened, all that was written before is
 * on the medium, so that what was collected may be erased.
 */
#ifndef FLASHPAGER_SWAP_LOG_INTERNAL_H
#define FLASHPAGER_SWAP_LOG_INTERNAL_H

#include "../swap_internal.h"

#define NOWHERE FP_SWAP_NOWHERE

/* Bytes on the medium: format.c says what is in them. */
#define TRAILER_BYTES ((uint32_t)20)
#define ENTRY_BYTES ((uint32_t)12)
#define NAME_BYTES ((uint32_t)4)
#define HEADER_BYTES ((uint32_t)44)

/* Of a record, beside its payload. */
#define RECORD_OVERHEAD (ENTRY_BYTES + NAME_BYTES)

/* Free blocks that are kept at hand: a collection may open two before it frees one,
 * and each block names its successor. */
#define FREE_BLOCKS 4u

/* What a program that failed gives inside the log; never to callers. */
#define PROGRAM_FAILED 1

/* States of a block. */
enum { BLOCK_FREE, BLOCK_CLOSED, BLOCK_HEAD, BLOCK_BAD };

/* Flags of a block. */
enum {
    FLAG_URGENT = 1,      /* its bits had to be corrected, or a program failed: collect it soon */
    FLAG_RETIRED = 2,     /* a program failed: it becomes bad when it has been collected */
    FLAG_RECENT = 4,      /* freed since the head's block was opened */
    FLAG_COUNTED = 8,     /* in mount: closed, and no header says how many pages are in use */
    FLAG_NEEDS_NEXT = 16, /* only the header of the next block says what counts in it */
};

struct fp_swap_block {
    uint32_t sequence; /* 0: holds nothing of this store */
    uint32_t erases;
    uint32_t live;  /* bytes of live records, RECORD_OVERHEAD each included */
    uint16_t pages; /* in use, of a closed block */
    uint8_t state;
    uint8_t flags;
};

/* A block's header. */
struct block_header {
    uint32_t epoch;
    uint32_t sequence;
    uint32_t erases;
    uint32_t next; /* the block that will be erased next; NOWHERE */
    uint32_t next_erases;
    uint32_t last_block; /* the one before */
    uint32_t last_sequence;
    uint16_t last_pages; /* of it, in use */
};

/* The directory of a flash page. */
struct directory {
    const uint8_t *page; /* the whole page, in memory */
    uint32_t base;       /* where the names begin */
    uint16_t count;      /* entries */
    uint16_t names;
    uint16_t carried; /* bytes of a record that began in a page before */
    uint16_t skipped; /* pages before this one that were passed over */
};

/* An entry: a record without its payload. */
struct entry {
    uint32_t slot;
    uint32_t crc;
    uint16_t size;   /* or a code of swap_internal.h */
    uint16_t stored; /* bytes of payload */
};

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

/* Geometry. Flash pages are numbered through the whole medium. */

static inline uint32_t program_bytes(const struct fp_swap *store)
{
    return store->config->medium->program_bytes;
}

static inline uint32_t pages_per_block(const struct fp_swap *store)
{
    return store->config->medium->block_bytes / store->config->medium->program_bytes;
}

static inline uint32_t entries_per_page(const struct fp_swap *store)
{
    return (program_bytes(store) - TRAILER_BYTES) / ENTRY_BYTES;
}

static inline uint32_t page_of(const struct fp_swap *store, uint32_t where)
{
    return where / entries_per_page(store);
}

static inline uint32_t block_of(const struct fp_swap *store, uint32_t where)
{
    return page_of(store, where) / pages_per_block(store);
}

static inline uint32_t where_of(const struct fp_swap *store, uint32_t page, uint32_t index)
{
    return page * entries_per_page(store) + index;
}

/* The page that head will be programmed into; NOWHERE if its block is full. */
static inline uint32_t head_page(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;

    return log->block == NOWHERE || log->page == pages_per_block(store)
               ? NOWHERE
               : log->block * pages_per_block(store) + log->page;
}

/* Blocks that are never filled with live data. */
static inline uint32_t reserve_blocks(const struct fp_swap *store)
{
    return store->config->reserve_blocks ? store->config->reserve_blocks : FP_SWAP_LOG_RESERVE;
}

/* Records. */

/* Bytes of a block that records can have: payload, entries and names. */
static inline uint32_t block_capacity(const struct fp_swap *store)
{
    return pages_per_block(store) * (program_bytes(store) - TRAILER_BYTES) - HEADER_BYTES;
}

/* Bytes of payload of a record. */
static inline uint16_t payload_bytes(uint16_t size)
{
    return size == FP_SWAP_SIZE_SAME ? 4u : size == FP_SWAP_SIZE_LOST ? 0u : size;
}

/* Bytes of the medium that a record takes. */
static inline uint32_t record_bytes(uint16_t size)
{
    return RECORD_OVERHEAD + payload_bytes(size);
}

/* Pages. */

/* Where a page's payload ends. */
static inline uint32_t payload_end(const struct fp_swap *store, const struct directory *directory)
{
    return program_bytes(store) - TRAILER_BYTES - ENTRY_BYTES * directory->count;
}

/* Where it begins; bytes carried from the page before come first. */
static inline uint32_t payload_begin(const struct directory *directory)
{
    return directory->base + NAME_BYTES * directory->names;
}

static inline uint32_t page_sequence(const struct fp_swap *store,
                                     const struct directory *directory)
{
    return fp_swap_get32(directory->page + program_bytes(store) - TRAILER_BYTES + 4);
}

static inline uint16_t page_epoch(const struct fp_swap *store, const struct directory *directory)
{
    return fp_swap_get16(directory->page + program_bytes(store) - TRAILER_BYTES + 14);
}

/* format.c */

struct entry fp_log_parse_entry(const uint8_t *at);
void fp_log_encode_entry(uint8_t *at, uint32_t slot, const struct entry *entry);

/* The index-th entry of a page. */
struct entry fp_log_get_entry(const struct fp_swap *store, const struct directory *directory,
                              uint32_t index);

/* Where the index-th record of a page begins. */
uint32_t fp_log_record_offset(const struct fp_swap *store, const struct directory *directory,
                              uint32_t index);

/* Pages from `page` on, itself included, that a record with `stored` bytes at
 * `offset` of it takes. */
uint32_t fp_log_pages_spanned(const struct fp_swap *store, const struct directory *directory,
                              uint32_t offset, uint32_t stored);

/* The directory of the head. */
struct directory fp_log_head_directory(const struct fp_swap *store);

/* The directory of a page in memory, as its trailer says. */
struct directory fp_log_page_directory(const struct fp_swap *store, const uint8_t *image,
                                       uint32_t page);

/* The same of a trailer alone; `image` is the page it is of, or NULL. */
struct directory fp_log_parse_trailer(const struct fp_swap *store, const uint8_t *image,
                                      const uint8_t *trailer, uint32_t page);

/* Write the trailer of the head, which is full. */
void fp_log_encode_trailer(struct fp_swap *store);

/* Whether a page in memory has a directory that can be followed. */
bool fp_log_is_directory(const struct fp_swap *store, const struct directory *directory,
                         uint32_t page);

/* The CRC over all that stands before a page's entries. It is looked at only where a
 * power cut may have torn the page: of other wrong bytes each record's CRC says whose they
 * are. */
uint32_t fp_log_content_crc(const struct fp_swap *store, const struct directory *directory);

void fp_log_encode_header(const struct fp_swap *store, uint8_t *at,
                          const struct block_header *header);

/* False where the bytes are no header of a store of this shape. */
bool fp_log_parse_header(const struct fp_swap *store, const uint8_t *at,
                         struct block_header *header);

/* read.c */

/* Read bytes of a page, wherever it is now: on the medium, in the cache or in the head. */
int fp_log_read(struct fp_swap *store, uint32_t page, uint32_t offset, uint8_t *data,
                uint32_t size);

/* Have a whole page in the cache. FP_SWAP_CORRUPT if it has no directory. */
int fp_log_load_page(struct fp_swap *store, uint32_t page, struct directory *directory);

/* The same, and FP_SWAP_CORRUPT if the page is not of what its block holds now. */
int fp_log_load_current_page(struct fp_swap *store, uint32_t page, struct directory *directory);

/* False where a block has no header that can be read. */
bool fp_log_read_header(struct fp_swap *store, uint32_t block, struct block_header *header);

/* Whether a page reads as erased. */
bool fp_log_is_blank(struct fp_swap *store, uint32_t page);

/* Take the next bytes of a source. What cannot be read becomes zeros: whoever does not
 * look at the error leaves it to the record's CRC. */
int fp_log_read_source(struct fp_swap *store, struct source *source, uint8_t *data,
                       uint32_t size);

/* find and fetch of the layout. */
int fp_log_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record);
int fp_log_fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data);

/* blocks.c */

/* Let a slot's record be the one at `where`, and count the live bytes of the blocks. */
void fp_log_set_record(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size);

/* Let a block be collected soon; set `flags` besides. */
void fp_log_mark_urgent(struct fp_swap *store, uint32_t block, uint8_t flags);

/* Take a block out of use. */
int fp_log_make_bad(struct fp_swap *store, uint32_t block);

/* Go on in a fresh block. What head held has been programmed, or is being rescued. */
int fp_log_open_block(struct fp_swap *store);

/* append.c */

/* Begin a page in head; the names of the page before stand at its end. */
void fp_log_begin_page(struct fp_swap *store);

/* Put the names of the records that begin in head at its end. */
void fp_log_keep_names(struct fp_swap *store);

/* Program head. PROGRAM_FAILED: it is still there. */
int fp_log_program_head(struct fp_swap *store);

/* Program what is in head, if anything is. */
int fp_log_sync(struct fp_swap *store);

/* Write a record to the log, whatever fails; `where` is where it stands then. */
int fp_log_append(struct fp_swap *store, uint32_t slot, const struct entry *entry,
                  const struct source *source, uint32_t *where);

/* Write to the head a record that stands elsewhere, and let it count. */
int fp_log_move_record(struct fp_swap *store, uint32_t where, const struct directory *directory,
                       uint32_t offset, const struct entry *entry);

/* Let the log say that a slot's page is lost; or free, if that is what was lost. */
int fp_log_append_lost(struct fp_swap *store, uint32_t slot);

/* rescue.c */

/* Write to the head once more a record that stands at `where`, if the slot's is that
 * one. */
int fp_log_rewrite_record(struct fp_swap *store, uint32_t slot, uint32_t where);

/* The head's page could not be programmed: its block takes no more, what is in head
 * goes into another one. The page stays in the cache meanwhile, as if it had been
 * programmed and could be read. */
int fp_log_rescue_head(struct fp_swap *store);

/* collect.c */

/* Have enough free blocks for a record. */
int fp_log_make_room(struct fp_swap *store);

/* survey.c */

/* Read all headers: which blocks hold what, and how worn they are. Gives the newest
 * header and its block, NOWHERE if there is none. A block's `pages` is the low half
 * of its epoch for now. */
uint32_t fp_log_survey(struct fp_swap *store, struct block_header *newest);

/* Pages in use of a block, where no header says so: up to the last that can be read. */
uint16_t fp_log_count_pages(struct fp_swap *store, uint32_t block);

/* A block of which nothing can be read: if the one that follows it says that it had one
 * page, that is lost. Of more, the second would be there. */
void fp_log_find_lost_page(struct fp_swap *store, uint32_t block);

/* Take up what a block's header says of the one before: how many of its pages are in use,
 * and that all between them failed, whatever can be read there. */
void fp_log_apply_header(struct fp_swap *store, const struct block_header *header);

/* The block that was opened after a given one; NOWHERE. Between them there may be some
 * whose first page could not be programmed. */
uint32_t fp_log_find_next_opened(struct fp_swap *store, uint32_t block);

/* mount.c */

/* Find the records that the medium holds, after fp_log_survey(). */
void fp_log_recover(struct fp_swap *store, const struct block_header *newest,
                    uint32_t newest_block);

/* check.c */

const char *fp_log_check(struct fp_swap *store);

#endif
