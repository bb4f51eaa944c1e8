/* A store on an emulated medium, and a history of the pages that it should hold. */
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
    bool releasing; /* the contents of blocks are destroyed when the store releases them */
};

struct rig {
    struct rig_shape shape;
    struct fp_emulated *emulated;
    struct fp_medium medium; /* the emulated medium, observed */
    struct fp_swap_rewriter rewriter;
    struct fp_swap_config config;
    struct fp_swap store;
    uint32_t *memory; /* the store's memory, with guard words before and after it */
    size_t memory_words;
    uint8_t *rewriter_block;
    uint32_t *rewriter_good;
    uint32_t failures; /* programs and erases that failed while the power was on */
    uint32_t starts;   /* formats and mounts; a store may have been cut before each */
    uint32_t releases; /* blocks that the store released */
    uint32_t last_block; /* block of the last program */
    uint32_t last_offset;
    uint32_t failing_reads_at; /* successful reads before the failing ones */
    uint32_t failing_reads;    /* reads that fail then */
    bool blind;                /* all reads fail */
    uint32_t unreadable_block; /* a page that cannot be read until it is erased; RIG_NONE */
    uint32_t unreadable_offset;
};

void rig_open(struct rig *rig, const struct rig_shape *shape);
void rig_close(struct rig *rig);
int rig_format(struct rig *rig);
int rig_mount(struct rig *rig);

/* Returns the words of memory that the layout's macro computes for a shape. */
size_t rig_words(const struct rig_shape *shape);

/* Fails if the store wrote outside its memory, or fp_swap_check() finds something. */
void rig_check(struct rig *rig);

/* Fails if the log's erase counters differ too much from the medium's. Each start allows a difference
 * of two erasures (since the last commit, and in a mount that was cut), and each failure of one. */
void rig_check_wear(struct rig *rig);

/* Fills a page with version `version` of `slot`: same-filled, random or partly compressible.
 * Version 0 means that the slot holds no page. */
void page_fill(uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version);
bool page_is(const uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version);

/* A run-length compressor, good enough for tests. */
extern const struct fp_compressor rle;

/* A version of a slot's page. A history has the versions after each call since the last sync. */
struct version {
    uint32_t version;
    uint64_t from; /* calls after which it is valid, until the next one's `from` */
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

/* Records a call after which `slot` holds `version` (0: none). */
void history_put(struct history *history, uint32_t slot, uint32_t version);
/* Removes the last put, which the store refused. */
void history_undo(struct history *history, uint32_t slot);
void history_sync(struct history *history);
uint32_t history_now(const struct history *history, uint32_t slot);

/* Fails unless the store is as it was after one of the calls since the last sync, and goes on from
 * there. Returns that call's number. */
uint64_t history_recover(struct history *history, struct rig *rig);

/* Makes one random call or more, until the power is cut. */
void work(struct rig *rig, struct history *history, uint64_t *random, uint32_t calls);

#endif
