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
 *     mount.c    mount and format
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

/* Bytes on the medium: README.md says what is in them. */
#define RECORD_HEADER ((uint32_t)12)
#define PREAMBLE_BYTES ((uint32_t)12) /* of a data block */
#define META_HEADER ((uint32_t)40) /* of which 6 bytes name blocks */
#define ENTRY_BYTES ((uint32_t)10)
#define ITEM_BYTES ((uint32_t)6)

/* A slot's size in memory while a mount has not met it. */
#define SIZE_UNKNOWN 0xfffdu

/* Reads of the same bytes before they count as unreadable. */
#define READ_TRIES 5u

/* What a program that failed gives inside the log; never to callers. */
#define PROGRAM_FAILED 1

/* States of a block. */
enum {
    BLOCK_FREE,
    BLOCK_FREED, /* nothing in it is live; the last commit says otherwise */
    BLOCK_OPEN,  /* a head fills it */
    BLOCK_CLOSED,
    BLOCK_META, /* of the meta stream, not older than a cycle */
    BLOCK_BAD,
};

/* Flags of a block. */
enum {
    FLAG_URGENT = 1,  /* collect it soon: its bits had to be corrected, or a program failed */
    FLAG_RETIRED = 2, /* a program failed: it becomes bad when nothing in it is live */
    FLAG_UNSAVED = 4, /* its item has changed since the last commit */
    FLAG_UNKNOWN = 8, /* in mount: its item has not been met */
    FLAG_SHOWS = 16,  /* in mount: it begins with a valid meta page; `stamp` is its generation */
    FLAG_DONE = 32,   /* in mount: it was looked at */
    FLAG_KEPT = 64,   /* in mount: another mount may find something live in it */
    FLAG_UNREADABLE = 128, /* in mount: its first pair could not be read */
};

struct fp_swap_block {
    uint32_t erases;
    uint32_t live;  /* bytes of live records; of a meta block: `emitted` after its last pair */
    uint32_t stamp; /* `clock` when it was opened; of a meta block: its generation */
    uint16_t next;  /* the block in which its last record goes on; NO_BLOCK */
    uint8_t state_age; /* state, and 16 times the head that fills it */
    uint8_t flags;
};

/* The header of a meta page. */
struct meta_header {
    uint32_t generation;
    uint32_t link_generation;
    uint32_t first;      /* key of the chunk's first item */
    uint16_t items;      /* of the chunk */
    uint16_t entries;
    uint16_t link_block; /* the meta block before; NO_BLOCK: a format */
    uint16_t link_pairs; /* how many of its pairs count */
    uint16_t confirmed;  /* the block counts once this pair of it is there */
    uint16_t reserved[FP_SWAP_LOG_RESERVED]; /* where the next meta block will be */
};

struct entry {
    uint32_t key;
    uint32_t value;
    uint16_t extra;
};

/* With a key in the journal: the entry of a record that was moved, which a caller did not
 * ask for; one that the next commit leaves out, for the one after it or for good. */
#define KEY_MOVED 0x80000000u
#define KEY_HELD 0x40000000u
#define KEY_DROPPED 0x20000000u
#define KEY_SLOT 0x1fffffffu

/* A record that is not on the medium yet. */
struct source {
    const uint8_t *data;
    uint32_t left; /* bytes of it that are still to be appended */
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

/* Bytes of a meta page behind its header. */
static inline uint32_t meta_room(const struct fp_swap *store)
{
    return program_bytes(store) - META_HEADER;
}

/* Entries of slots that are kept before they are committed: half a page of them. */
static inline uint32_t journal_capacity(const struct fp_swap *store)
{
    return meta_room(store) / 2u / ENTRY_BYTES;
}

/* A record's place: `where` counts units of four bytes through the medium. */

static inline uint32_t where_of(const struct fp_swap *store, uint32_t block, uint32_t offset)
{
    return block * (block_bytes(store) / 4u) + offset / 4u;
}

static inline uint32_t block_of(const struct fp_swap *store, uint32_t where)
{
    return where / (block_bytes(store) / 4u);
}

static inline uint32_t offset_of(const struct fp_swap *store, uint32_t where)
{
    return where % (block_bytes(store) / 4u) * 4u;
}

/* Whether a slot of this size has a record. What is filled with one word has it in place of
 * `where`. */
static inline bool has_record(uint16_t size)
{
    return size != FP_SWAP_SIZE_NONE && size < SIZE_UNKNOWN;
}

/* Bytes of the medium that a record takes. */
static inline uint32_t record_bytes(uint16_t size)
{
    return RECORD_HEADER + (((uint32_t)size + 3u) & ~(uint32_t)3u);
}

/* Bytes of a record in the block it begins in. */
static inline uint32_t bytes_in_first(const struct fp_swap *store, uint32_t where, uint16_t size)
{
    uint32_t room = block_bytes(store) - offset_of(store, where);

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

/* What the store knows of an item. */
struct entry fp_log_get_item(const struct fp_swap *store, uint32_t key);

/* Let the store know an item; live bytes are not counted. */
void fp_log_set_item(struct fp_swap *store, const struct entry *entry);

void fp_log_encode_entry(uint8_t *at, const struct entry *entry);
struct entry fp_log_parse_entry(const uint8_t *at);
void fp_log_encode_item(uint8_t *at, const struct entry *entry);
struct entry fp_log_parse_item(const uint8_t *at, uint32_t key);

/* Write the header of a meta page, whose other bytes are there, for a place on the medium. */
void fp_log_seal_page(const struct fp_swap *store, uint8_t *page, const struct meta_header *header,
                      uint32_t block, uint32_t index);

/* What bytes read from a place are. */
enum page_kind {
    PAGE_BLANK,
    PAGE_NOT_META, /* a data page, or none */
    PAGE_BROKEN,   /* of a meta block, and wrong */
    PAGE_OTHER,    /* of a store of another version or shape */
    PAGE_META,
    PAGE_UNREADABLE,
};
enum page_kind fp_log_parse_page(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                                 uint32_t index, struct meta_header *header);

uint8_t *fp_log_page_entries(uint8_t *page);
uint8_t *fp_log_page_items(uint8_t *page, const struct meta_header *header);

/* The header of a record. `check` tells one from other bytes. */
struct record_header {
    uint32_t slot; /* NOWHERE: nothing up to the end of the flash page */
    uint32_t crc;
    uint16_t size;
};
void fp_log_encode_record(uint8_t *at, const struct record_header *header);
bool fp_log_parse_record(const uint8_t *at, struct record_header *header);

/* blocks.c */

void fp_log_set_state(struct fp_swap *store, uint32_t block, uint32_t state);
void fp_log_mark_unsaved(struct fp_swap *store, uint32_t block);

/* Let a slot's record be the one at `where`, and count the live bytes of the blocks. */
void fp_log_set_record(struct fp_swap *store, uint32_t slot, uint32_t where, uint16_t size);

/* Let a block be collected soon; set `flags` besides. */
void fp_log_mark_urgent(struct fp_swap *store, uint32_t block, uint8_t flags);

/* Take a block out of use. */
int fp_log_make_bad(struct fp_swap *store, uint32_t block);

/* Find out again which blocks are in the zone. */
void fp_log_find_zone(struct fp_swap *store);

/* Free blocks of the zone that heads leave to the meta stream. */
uint32_t fp_log_zone_kept(const struct fp_swap *store);

/* Whether a block is one that the next meta block will be in. Heads do not take it: what is in
 * it then, no mount needs, whichever block of the stream it finds the newest. */
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

/* Take a free block and erase it: for a head, or for the meta stream. FP_SWAP_FULL where there
 * is none. */
int fp_log_take_block(struct fp_swap *store, uint32_t age, uint16_t *block);
int fp_log_take_meta_block(struct fp_swap *store, uint16_t *block);

/* Erase a block; where that fails it becomes bad, and PROGRAM_FAILED is returned. */
int fp_log_erase(struct fp_swap *store, uint32_t block);

uint32_t fp_log_mean_erases(const struct fp_swap *store);

/* read.c */

/* Read from the medium, again where it fails. */
int fp_log_read_medium(struct fp_swap *store, uint32_t block, uint32_t offset, void *data,
                       uint32_t size);

/* Whether the medium can be read at all: what cannot be read is lost otherwise. */
bool fp_log_is_alive(struct fp_swap *store);

/* Read bytes of a data block, wherever they are now. */
int fp_log_read(struct fp_swap *store, uint32_t block, uint32_t offset, uint8_t *data,
                uint32_t size);

/* Read bytes of a record from its `at`-th. */
int fp_log_read_record(struct fp_swap *store, uint32_t where, uint32_t at, uint8_t *data,
                       uint32_t size);

/* find and fetch of the layout. */
int fp_log_find(struct fp_swap *store, uint32_t slot, struct fp_swap_record *record);
int fp_log_fetch(struct fp_swap *store, uint32_t slot, const struct fp_swap_record *record,
                 uint8_t *data);

/* append.c */

/* Append `size` bytes, a record, to a head, whose last one it is then. Without a source it is the
 * slot's own that is copied; `unreadable` is set if some of its bytes were. */
int fp_log_append(struct fp_swap *store, uint32_t age, uint32_t slot, struct source *source,
                  uint32_t size);

/* Program what is in a head, filled up. */
int fp_log_flush(struct fp_swap *store, uint32_t age);

/* Whether some of a record's bytes are in a head; its age, or FP_SWAP_LOG_HEADS. */
uint32_t fp_log_pending_in(const struct fp_swap *store, uint32_t where, uint16_t size);

/* meta.c */

/* Note an item's new value; there must be room. */
void fp_log_note(struct fp_swap *store, uint32_t key, uint32_t value, uint16_t extra);

/* Write the journal. `all`: all of it, and what is in the heads before; else what is on the
 * medium already, and what callers did in their order. */
int fp_log_commit(struct fp_swap *store, bool all);

/* Where a pair goes. */
enum place {
    PLACE_NEXT,  /* behind the last, while there is room */
    PLACE_OPEN,  /* to a block of its own */
    PLACE_WHOLE, /* the same, with all items behind it, or as many as it takes */
};

/* The same for a journal of which all that is not held is on the medium. */
int fp_log_write_pair(struct fp_swap *store, enum place place);

/* Write pairs until as many meta blocks are in use as there should be, or `most` of them. */
int fp_log_compact_meta(struct fp_swap *store, uint32_t most);

/* Meta blocks that may be in use. */
uint32_t fp_log_meta_limit(const struct fp_swap *store);

/* Meta blocks that a whole cycle takes, opened with PLACE_WHOLE. With so many free blocks in the
 * zone the stream goes on whatever comes: behind them all older ones are free. */
uint32_t fp_log_whole_blocks(const struct fp_swap *store);

/* A sync. */
int fp_log_sync(struct fp_swap *store);

/* collect.c */

/* Bytes that are kept free beside that, at least: heads do not fill their blocks at the same
 * time. */
uint64_t fp_log_slack(const struct fp_swap_config *config);

/* Victims that a write pays for at most, while there is room for what it writes. */
#define FP_LOG_VICTIMS 2u

/* Collect as much as a record of so many bytes has to pay. */
int fp_log_collect(struct fp_swap *store, uint32_t bytes);

/* Have an entry of the journal free, and room for a record in the head `age`: or in another one,
 * which is set then. */
int fp_log_prepare(struct fp_swap *store, uint32_t bytes, uint32_t *age);

/* The head for a page that is written to a slot. */
uint32_t fp_log_age_of_write(const struct fp_swap *store, uint32_t slot);

int fp_log_idle(struct fp_swap *store);

/* Have as many free blocks in the zone as the meta stream may need, for a mount after which there
 * may be no time. */
int fp_log_restock_zone(struct fp_swap *store);

/* mount.c */

int fp_log_mount(struct fp_swap *store);
int fp_log_format(struct fp_swap *store);

/* check.c */

const char *fp_log_check(struct fp_swap *store);

#endif
