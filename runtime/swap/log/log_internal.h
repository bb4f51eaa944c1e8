/*
 * The log: for NAND. README.md, "The log on the medium", says what is written where, and why no
 * order of power cuts breaks it.
 *
 *     format.c   the bytes of the meta stream, and nothing else
 *     blocks.c   which blocks are free, bad, live; taking one
 *     read.c     reading, and finding records
 *     append.c   records go to a head, full pages to the medium; a page that could not be programmed
 *     meta.c     the meta stream: entries, commits, opening its blocks
 *     collect.c  garbage collection and wear levelling
 *     survey.c   which blocks begin with a meta page, of any shape, and the newest that counts
 *     mount.c    mount
 *     anew.c     format
 *     check.c    fp_swap_check()
 *     log.c      the calls of the front
 *
 * Words. A *record* is a header and a compressed page. A *head* is a stream of records through the
 * data blocks it takes. An *item* is what the store knows of a slot or of a block; its *key* is the
 * slot, or the number of slots plus the block. An *entry* is an item's new value. A *pair* is two
 * neighbouring flash pages of a meta block with the same content: entries, and a *chunk* of items
 * in a row. A *commit* writes a pair.
 */
#ifndef FLASHPAGER_SWAP_LOG_INTERNAL_H
#define FLASHPAGER_SWAP_LOG_INTERNAL_H

#include "../swap_internal.h"

#define NOWHERE FP_SWAP_NOWHERE
#define NO_BLOCK ((uint16_t)0xffffu)

/* Sizes on the medium. README.md describes their contents. */
#define RECORD_HEADER ((uint32_t)12)
#define PREAMBLE_BYTES ((uint32_t)12) /* of a data block */
#define META_PREFIX ((uint32_t)32) /* of a meta page: it is the same for all shapes */
#define META_HEADER ((uint32_t)64)
#define ENTRY_BYTES ((uint32_t)10)
#define ITEM_BYTES ((uint32_t)6)

/* Size of a slot in memory until a mount has found it. */
#define SIZE_UNKNOWN 0xfffdu

/* Reads of the same bytes before they count as unreadable. */
#define READ_TRIES 5u

/* Result of a failed program inside the log; never returned to callers. */
#define PROGRAM_FAILED 1

/* States of a block. */
enum {
    BLOCK_FREE,
    BLOCK_FREED, /* nothing in it is live, but the last commit does not say so yet */
    BLOCK_OPEN,  /* a head fills it */
    BLOCK_CLOSED,
    BLOCK_META, /* of the meta stream, and not older than a cycle */
    BLOCK_BAD,
};

/* Flags of a block. */
enum {
    FLAG_URGENT = 1,  /* collect it soon: its bits had to be corrected, or a program failed */
    FLAG_RETIRED = 2, /* a program failed: it becomes bad once nothing in it is live */
    FLAG_UNSAVED = 4, /* its item has changed since the last commit */
    FLAG_UNKNOWN = 8, /* during a mount: its item has not been found yet */
    /* during a mount: it begins with a valid meta page, whose generation is in `stamp` */
    FLAG_SHOWS = 16,
    FLAG_DONE = 32,   /* during a mount: it was examined */
    FLAG_KEPT = 64,   /* during a mount: another mount may find something live in it */
    FLAG_UNREADABLE = 128, /* during a mount: its first pair could not be read */
    /* during a mount: it begins with a valid meta page of another shape. No block both shows and is
     * unreadable. */
    FLAGS_OTHER = FLAG_SHOWS | FLAG_UNREADABLE,
};

struct fp_swap_block {
    uint32_t erases;
    uint32_t live;  /* bytes of live records; in a meta block, `emitted` after its last pair */
    uint32_t stamp; /* `clock` when it was opened; in a meta block, its generation */
    uint16_t next;  /* the block in which its last record continues; NO_BLOCK */
    uint8_t state_age; /* its state, plus 16 times the head that fills it */
    uint8_t flags;
};

/* The header of a meta page. */
struct meta_header {
    uint32_t generation;
    uint32_t link_generation;
    uint32_t first;      /* key of the chunk's first item */
    uint16_t items;      /* items of the chunk */
    uint16_t entries;
    uint16_t link_block; /* the previous meta block; NO_BLOCK after a format */
    uint16_t link_pairs; /* how many of its pairs count */
    uint16_t confirmed;  /* the block counts once this pair of it is complete */
    /* the blocks of which the next meta block will be one */
    uint16_t reserved[FP_SWAP_LOG_RESERVED];
};

struct entry {
    uint32_t key;
    uint32_t value;
    uint16_t extra;
};

/* Flags of a key in the journal: the entry of a record that was moved, not written by a caller; and
 * an entry that the next commit leaves out, for the one after it or for good. */
#define KEY_MOVED 0x80000000u
#define KEY_HELD 0x40000000u
#define KEY_DROPPED 0x20000000u
#define KEY_SLOT 0x1fffffffu

/* A record that is not on the medium yet. */
struct source {
    const uint8_t *data;
    uint32_t left; /* bytes that are still to be appended */
    uint8_t header[RECORD_HEADER];
};

/* Geometry. */

static inline uint32_t program_bytes(const struct fp_swap *store)
{
    return store->config->medium->program_bytes;
}

static inline uint32_t block_bytes(const struct fp_swap *store)
{
    return store->config->medium->block_bytes;
}

static inline uint32_t block_count(const struct fp_swap *store)
{
    return store->config->medium->block_count;
}

static inline uint32_t pages_per_block(const struct fp_swap *store)
{
    return block_bytes(store) / program_bytes(store);
}

static inline uint32_t pairs_per_block(const struct fp_swap *store)
{
    return pages_per_block(store) / 2u;
}

static inline uint32_t head_count(const struct fp_swap *store)
{
    return FP_SWAP_LOG_HEADS_OF(block_count(store));
}

static inline uint32_t item_count(const struct fp_swap *store)
{
    return store->config->slot_count + block_count(store);
}

/* Returns the bytes of a meta page after its header. */
static inline uint32_t meta_room(const struct fp_swap *store)
{
    return program_bytes(store) - META_HEADER;
}

/* Returns how many entries of slots are kept before they are committed: half a page of them. */
static inline uint32_t journal_capacity(const struct fp_swap *store)
{
    return meta_room(store) / 2u / ENTRY_BYTES;
}

/* Places of records: `location` counts units of four bytes from the start of the medium. */

static inline uint32_t location_of(const struct fp_swap *store, uint32_t block, uint32_t offset)
{
    return block * (block_bytes(store) / 4u) + offset / 4u;
}

static inline uint32_t block_of(const struct fp_swap *store, uint32_t location)
{
    return location / (block_bytes(store) / 4u);
}

static inline uint32_t offset_of(const struct fp_swap *store, uint32_t location)
{
    return location % (block_bytes(store) / 4u) * 4u;
}

/* Returns true if a slot of this size has a record. A same-filled page has its word in `location`
 * instead. */
static inline bool has_record(uint16_t size)
{
    return size != FP_SWAP_SIZE_NONE && size < SIZE_UNKNOWN;
}

/* Returns the bytes of the medium that a record takes. */
static inline uint32_t record_bytes(uint16_t size)
{
    return RECORD_HEADER + (((uint32_t)size + 3u) & ~(uint32_t)3u);
}

/* Returns the bytes of a record that are in the block in which it begins. */
static inline uint32_t bytes_in_first(const struct fp_swap *store, uint32_t location, uint16_t size)
{
    uint32_t room = block_bytes(store) - offset_of(store, location);

    return record_bytes(size) < room ? record_bytes(size) : room;
}

/* Blocks. */

static inline uint32_t state_of(const struct fp_swap_block *block)
{
    return block->state_age & 15u;
}

static inline uint32_t age_of(const struct fp_swap_block *block)
{
    return block->state_age >> 4;
}

static inline bool is_in_zone(const struct fp_swap *store, uint32_t block)
{
    return block < store->of.log.zone_end;
}

/* format.c */

/* Returns what the store knows of an item. */
struct entry fp_log_get_item(const struct fp_swap *store, uint32_t key);

/* Sets an item; live bytes are not counted. */
void fp_log_set_item(struct fp_swap *store, const struct entry *entry);

void fp_log_encode_entry(uint8_t *at, const struct entry *entry);
struct entry fp_log_parse_entry(const uint8_t *at);
void fp_log_encode_item(uint8_t *at, const struct entry *entry);
struct entry fp_log_parse_item(const uint8_t *at, uint32_t key);

/* Writes the header of a meta page for a place on the medium. The rest of the page is complete. */
void fp_log_seal_page(const struct fp_swap *store, uint8_t *page, const struct meta_header *header,
                      uint32_t block, uint32_t index);

/* Kinds of bytes that were read as a meta page. */
enum page_kind {
    PAGE_BLANK,
    PAGE_NOT_META, /* a data page, or no page */
    PAGE_BROKEN,   /* of a meta block, and damaged */
    PAGE_OTHER,    /* of a store of another version or shape */
    PAGE_META,
    PAGE_UNREADABLE,
};

/* Reads the shape from a prefix. Returns false if it is not a prefix. Pages of an old version have no
 * shape, so only their magic number is read. */
bool fp_log_parse_prefix(const uint8_t *at, struct fp_swap_shape *shape);

/* Returns true if a shape is that of the store's config. */
bool fp_log_is_own(const struct fp_swap *store, const struct fp_swap_shape *shape);

/* Returns the CRC of a page, of any shape, up to the end of its header. */
uint32_t fp_log_page_crc(const struct fp_swap *store, const uint8_t *head, uint32_t block,
                         uint32_t index);

/* Reads a header; its numbers may be anything, except those of reserved blocks. */
void fp_log_parse_header(const struct fp_swap *store, const uint8_t *page,
                         struct meta_header *header);
enum page_kind fp_log_parse_page(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                                 uint32_t index, struct meta_header *header);

uint8_t *fp_log_page_entries(uint8_t *page);
uint8_t *fp_log_page_items(uint8_t *page, const struct meta_header *header);

/* The header of a record. Its `check` distinguishes it from other bytes. */
struct record_header {
    uint32_t slot; /* NOWHERE: there is nothing up to the end of the flash page */
    uint32_t crc;
    uint16_t size;
};
void fp_log_encode_record(uint8_t *at, const struct record_header *header);
bool fp_log_parse_record(const uint8_t *at, struct record_header *header);

/* blocks.c */

void fp_log_set_state(struct fp_swap *store, uint32_t block, uint32_t state);
void fp_log_mark_unsaved(struct fp_swap *store, uint32_t block);

/* Sets a slot's record to the one at `location`, and counts the live bytes of the blocks. */
void fp_log_set_record(struct fp_swap *store, uint32_t slot, uint32_t location, uint16_t size);

/* Lets a block be collected soon, and sets `flags`. */
void fp_log_mark_urgent(struct fp_swap *store, uint32_t block, uint8_t flags);

/* Takes a block out of use. */
int fp_log_make_bad(struct fp_swap *store, uint32_t block);

/* Finds the blocks of the zone again. */
void fp_log_find_zone(struct fp_swap *store);

/* Returns how many free blocks of the zone heads leave to the meta stream. */
uint32_t fp_log_zone_kept(const struct fp_swap *store);

/* Returns true if a block is reserved for the next meta block. Heads do not take it: no mount needs
 * its contents, whichever block of the stream it finds to be the newest. */
static inline bool is_reserved(const struct fp_swap *store, uint32_t block)
{
    uint32_t i;

    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        if (store->of.log.reserved[i] == block) {
            return true;
        }
    }
    return false;
}

/* Takes a free block, for a head or for the meta stream, and erases it. Returns FP_SWAP_FULL if
 * there is none. */
int fp_log_take_block(struct fp_swap *store, uint32_t age, uint16_t *block);
int fp_log_take_meta_block(struct fp_swap *store, uint16_t *block);

/* Erases a block. If that fails the block becomes bad, and PROGRAM_FAILED is returned. */
int fp_log_erase(struct fp_swap *store, uint32_t block);

uint32_t fp_log_mean_erases(const struct fp_swap *store);

/* read.c */

/* Reads from the medium, and retries a failed read. */
int fp_log_read_medium(struct fp_swap *store, uint32_t block, uint32_t offset, void *data,
                       uint32_t size);

/* Returns true if the medium can be read at all. If it can, what cannot be read is lost. */
bool fp_log_is_alive(struct fp_swap *store);

/* Reads bytes of a data block, from a head or from the medium. */
int fp_log_read(struct fp_swap *store, uint32_t block, uint32_t offset, uint8_t *data,
                uint32_t size);

/* Reads bytes of a record, from byte `at` on. */
int fp_log_read_record(struct fp_swap *store, uint32_t location, uint32_t at, uint8_t *data,
                       uint32_t size);

/* The layout's find() and fetch(). */
int fp_log_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record);
int fp_log_fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data);

/* append.c */

/* Appends `size` bytes, a record, to a head; it is the head's last one then. Without a source the
 * slot's own record is copied, and `unreadable` is set if some of its bytes could not be read. */
int fp_log_append(struct fp_swap *store, uint32_t age, uint32_t slot, struct source *source,
                  uint32_t size);

/* Programs the page of a head, filled up. */
int fp_log_flush(struct fp_swap *store, uint32_t age);

/* Returns the age of a head that has some of a record's bytes, or FP_SWAP_LOG_HEADS. */
uint32_t fp_log_pending_in(const struct fp_swap *store, uint32_t location, uint16_t size);

/* meta.c */

/* Notes an item's new value in the journal, which must have space. */
void fp_log_note(struct fp_swap *store, uint32_t key, uint32_t value, uint16_t extra);

/* Writes the journal. With `all`, all of it, after the pages of the heads; otherwise the entries
 * whose records are on the medium, and those of callers in their order. */
int fp_log_commit(struct fp_swap *store, bool all);

/* Where a pair is written. */
enum place {
    PLACE_NEXT,  /* after the last pair, if there is space */
    PLACE_OPEN,  /* to a new block */
    PLACE_WHOLE, /* to a new block, followed by all items, or as many as it holds */
};

/* Writes a pair of a journal whose entries, except those held, are on the medium. */
int fp_log_write_pair(struct fp_swap *store, enum place place);

/* Writes pairs until the right number of meta blocks is in use, or at most `most` pairs. */
int fp_log_compact_meta(struct fp_swap *store, uint32_t most);

/* Returns how many meta blocks may be in use. */
uint32_t fp_log_meta_limit(const struct fp_swap *store);

/* Returns how many meta blocks a whole cycle takes, opened with PLACE_WHOLE. With so many free
 * blocks in the zone the stream always goes on, as all older blocks are free after them. */
uint32_t fp_log_whole_blocks(const struct fp_swap *store);

/* Syncs the store. */
int fp_log_sync(struct fp_swap *store);

/* collect.c */

/* Returns the bytes that are also kept free: heads do not fill their blocks at the same time. */
uint64_t fp_log_slack(const struct fp_swap_config *config);

/* Most victims that a write pays for, as long as there is space for what it writes. */
#define FP_LOG_VICTIMS 2u

/* Collects as much as a record of so many bytes has to pay for. */
int fp_log_collect(struct fp_swap *store, uint32_t bytes);

/* Makes sure that the journal has a free entry, and that head `age` has space for a record; or
 * another head, to which `age` is then set. */
int fp_log_prepare(struct fp_swap *store, uint32_t bytes, uint32_t *age);

/* Returns the head for a page that is written to a slot. */
uint32_t fp_log_age_of_write(const struct fp_swap *store, uint32_t slot);

int fp_log_idle(struct fp_swap *store);

/* Provides as many free blocks in the zone as the meta stream may need, for a mount after which
 * there may be no time for it. */
int fp_log_restock_zone(struct fp_swap *store);

/* survey.c */

/* Reads a meta page into log->page. */
enum page_kind fp_log_read_page(struct fp_swap *store, uint32_t block, uint32_t index,
                                struct meta_header *header);

/* Reads a pair: one of its copies, or the kind of the first. */
enum page_kind fp_log_read_pair(struct fp_swap *store, uint32_t block, uint32_t pair,
                                struct meta_header *header);

/* A search for the newest block of the meta stream. */
struct survey {
    bool unreadable;     /* both copies of some block's first page could not be read */
    bool version;        /* something is there of another version, which is in store->other */
    uint32_t page;       /* a pair that could not be read; NOWHERE */
    uint16_t torn;       /* a block whose pairs from `whole` on are torn; NO_BLOCK */
    uint16_t whole;
    uint16_t pairs;      /* valid pairs of the newest block */
    bool wide;           /* the whole medium was searched */
    bool unsettled;      /* the newest block is a format's that another mount may not find */
    bool left_out;       /* such a block was left out */
    bool forced;         /* nothing else is there: such a block may take what is below it */
    bool outside;        /* the newest block is outside the zone: a format goes on */
    bool other;          /* the newest block is of another shape, which is in store->other */
    /* the blocks that it reserves for the next one */
    uint16_t reserved[FP_SWAP_LOG_RESERVED];
};

/* Reads the first pair of each block of the zone. */
void fp_log_survey_zone(struct fp_swap *store, struct survey *survey);

/* Returns the block of the highest generation that counts, or NO_BLOCK. */
uint16_t fp_log_find_newest(struct fp_swap *store, struct survey *survey);

/* mount.c */

int fp_log_mount(struct fp_swap *store);

/* Finds what the medium holds: the items, and the states of the blocks. */
int fp_log_find_store(struct fp_swap *store, struct survey *survey);

/* Finds the states of the blocks from the items. */
void fp_log_find_states(struct fp_swap *store);

/* anew.c */

int fp_log_format(struct fp_swap *store);

/* Makes an empty store where a search ended, `known` with FP_SWAP_OK. */
int fp_log_begin_anew(struct fp_swap *store, struct survey *survey, bool known);

/* check.c */

const char *fp_log_check(struct fp_swap *store);

#endif
