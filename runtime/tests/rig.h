/* A store on an emulated medium, and what it should hold. */
#ifndef FLASHPAGER_TEST_RIG_H
#define FLASHPAGER_TEST_RIG_H

#include "../medium/emulated.h"
#include "../swap/flashpager_swap.h"
#include "test.h"

#define RIG_PAGE_BYTES_MAX 4096u
#define RIG_NONE UINT32_MAX

enum rig_layout {
    RIG_LOG,
    RIG_FRAGMENTS,
    RIG_REWRITER, /* fragments on a NAND that is read, erased and written back */
};

struct rig_shape {
    enum rig_layout layout;
    struct fp_emulated_config medium;
    uint32_t page_bytes;
    uint32_t slot_count;
    uint32_t chunk_count;
    bool raw; /* without a compressor */
    bool releasing; /* what blocks hold is destroyed when the store says that it may be */
};

struct rig {
    struct rig_shape shape;
    struct fp_emulated *emulated;
    struct fp_medium medium; /* the emulated one, watched */
    struct fp_swap_rewriter rewriter;
    struct fp_swap_config config;
    struct fp_swap store;
    uint32_t *memory; /* with guards before and behind what the store gets */
    size_t memory_words;
    uint8_t *rewriter_block;
    uint32_t *rewriter_good;
    uint32_t failures; /* programs and erases that failed, with power */
    uint32_t starts;   /* formats and mounts: a store before each that ended anywhere */
    uint32_t releases; /* blocks that the store said it does not need */
    uint32_t last_block; /* of the last program */
    uint32_t last_offset;
    uint32_t failing_reads_at; /* after so many more */
    uint32_t failing_reads;    /* this many fail */
    bool blind;                /* all of them do */
    uint32_t unreadable_block; /* a page that cannot be read until it is erased; RIG_NONE */
    uint32_t unreadable_offset;
};

void rig_open(struct rig *rig, const struct rig_shape *shape);
void rig_close(struct rig *rig);
int rig_format(struct rig *rig);
int rig_mount(struct rig *rig);

/* Words of memory that a shape's macro gives. */
size_t rig_words(const struct rig_shape *shape);

/* Fail if the store wrote outside its memory, or fp_swap_check() finds something. */
void rig_check(struct rig *rig);

/* Fail if the log's erase counters are not those of the medium, but for two erasures for each
 * start, and one for each failure: those since the last commit, and those of a mount that was cut
 * off. */
void rig_check_wear(struct rig *rig);

/* The page that version `version` of `slot` is: filled with one word, random or
 * partly compressible. Version 0 is no page. */
void page_fill(uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version);
bool page_is(const uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version);

/* Runs of bytes: enough of a compressor for tests. */
extern const struct fp_compressor rle;

/* What slots held after each call since the last sync. */
struct version {
    uint32_t version;
    uint64_t from; /* calls after which it stands, until the next one's `from` */
};

struct slot_history {
    struct version *versions;
    uint32_t count;
    uint32_t capacity;
};

struct history {
    struct slot_history *slots;
    uint32_t slot_count;
    uint32_t last_version;
    uint64_t calls;
    uint64_t synced;
};

void history_open(struct history *history, uint32_t slot_count);
void history_close(struct history *history);

/* A call that makes `version` (0: none) what `slot` holds. */
void history_put(struct history *history, uint32_t slot, uint32_t version);
/* The last put was refused. */
void history_undo(struct history *history, uint32_t slot);
void history_sync(struct history *history);
uint32_t history_now(const struct history *history, uint32_t slot);

/* Fail unless the store is as it was after one of the calls since the last sync; go on
 * from there. Gives that call's number. */
uint64_t history_recover(struct history *history, struct rig *rig);

/* One random call, or more, until the power goes. */
void work(struct rig *rig, struct history *history, uint64_t *random, uint32_t calls);

#endif
