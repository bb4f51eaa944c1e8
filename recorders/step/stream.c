/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TAIL_BYTES (256u * 1024u)
#define RECORD_FLAG UINT32_C(0x80000000)
#define PATH_BYTES 4096
/* Stepping fills the tail in seconds: a reader wants to see it grow. */
#define WORDS_UNFLUSHED 4096u

enum record_kind {
    RECORD_META = 1,
    RECORD_MAP = 2,
    RECORD_BLOCK = 3,
    RECORD_END = 4,
    RECORD_THREAD = 6,
    RECORD_SWITCH = 8,
    RECORD_PROCESS = 9,
};

/* The head of the shared-memory file. `base` counts the stream bytes already
 * written to the pipe; `used` the bytes in `data` that follow them. */
struct tail {
    _Atomic uint64_t base;
    _Atomic uint64_t used;
    unsigned char data[];
};

static struct tail *tail;
static const size_t tail_capacity = TAIL_BYTES - sizeof(struct tail);
static int pipe_fd = -1;
static bool is_read;

struct block {
    uint64_t address;
    uint32_t bytes;
    uint32_t instructions; /* 0: a free place */
    uint32_t number;
};

struct stream_process {
    uint32_t number;
    /* The blocks described since the last MAP, by open addressing. */
    struct block *blocks;
    size_t block_capacity; /* a power of two */
    size_t blocks_known;
    uint32_t block_count;
    uint64_t blocks_executed;
    /* The block without instructions described last. */
    struct block unseen;
};
static uint32_t processes_named;
/* What comes is of this process, and what was put last of that one. */
static struct stream_process *selected;
static uint32_t selected_number, reported_number;

bool stream_is_read(void)
{
    return is_read;
}

void stream_flush(void)
{
    uint64_t used = atomic_load_explicit(&tail->used, memory_order_relaxed);
    uint64_t sent = 0;
    while (is_read && sent < used) {
        ssize_t n = write(pipe_fd, tail->data + sent, used - sent);
        if (n > 0) {
            sent += (uint64_t)n;
        } else if (n == 0 || errno != EINTR) {
            is_read = false;
        }
    }
    /* In this order a kill in between loses nothing and repeats nothing. */
    atomic_store_explicit(&tail->used, 0, memory_order_release);
    atomic_fetch_add_explicit(&tail->base, used, memory_order_release);
}

static void put_word(uint32_t word)
{
    uint64_t used = atomic_load_explicit(&tail->used, memory_order_relaxed);
    if (used + sizeof word > tail_capacity) {
        stream_flush();
        used = 0;
    }
    memcpy(tail->data + used, &word, sizeof word);
    atomic_store_explicit(&tail->used, used + sizeof word, memory_order_release);
}

static void put_payload(enum record_kind kind, const void *payload, size_t bytes)
{
    put_word(RECORD_FLAG | (uint32_t)kind << 24 | (uint32_t)bytes);
    const unsigned char *p = payload;
    while (bytes > 0) {
        uint32_t word = 0;
        size_t n = bytes < sizeof word ? bytes : sizeof word;
        memcpy(&word, p, n);
        put_word(word);
        p += n;
        bytes -= n;
    }
}

static void put_selected(void)
{
    if (reported_number != selected_number) {
        reported_number = selected_number;
        put_payload(RECORD_PROCESS, &reported_number, sizeof reported_number);
    }
}

static void put_record(enum record_kind kind, const void *payload, size_t bytes)
{
    put_selected();
    put_payload(kind, payload, bytes);
}

void put_meta(const char *key, const char *value)
{
    char text[PATH_BYTES + 256];
    int n = snprintf(text, sizeof text, "%s=%s", key, value);
    if (n > 0) {
        put_record(RECORD_META, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    }
}

void put_map(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    size_t length = strlen(path);
    if (length > PATH_BYTES) {
        return;
    }
    unsigned char payload[24 + PATH_BYTES];
    uint64_t fields[3] = { start, end, offset };
    memcpy(payload, fields, sizeof fields);
    memcpy(payload + sizeof fields, path, length);
    put_record(RECORD_MAP, payload, sizeof fields + length);
    /* A block is placed when it is described. */
    memset(selected->blocks, 0, selected->block_capacity * sizeof *selected->blocks);
    selected->blocks_known = 0;
}

static struct block *find_block(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    uint64_t hash = (address ^ (uint64_t)bytes << 48) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> 32);; i++) {
        struct block *block = &selected->blocks[i & (selected->block_capacity - 1)];
        if (block->instructions == 0 || (block->address == address && block->bytes == bytes &&
                                         block->instructions == instructions)) {
            return block;
        }
    }
}

static void grow(void)
{
    struct block *old = selected->blocks;
    size_t capacity = selected->block_capacity;
    selected->blocks = calloc(2 * capacity, sizeof *selected->blocks);
    if (selected->blocks == NULL) {
        abort(); /* the program goes on without us: nothing is told that is not so */
    }
    selected->block_capacity = 2 * capacity;
    for (size_t i = 0; i < capacity; i++) {
        if (old[i].instructions != 0) {
            *find_block(old[i].address, old[i].bytes, old[i].instructions) = old[i];
        }
    }
    free(old);
}

static uint32_t describe(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32), bytes, instructions };
    put_record(RECORD_BLOCK, payload, sizeof payload);
    return selected->block_count++;
}

void put_unseen(uint64_t address)
{
    if (selected->unseen.number == UINT32_MAX || selected->unseen.address != address) {
        selected->unseen = (struct block){ .address = address, .number = describe(address, 0, 0) };
    }
    put_selected();
    put_word(selected->unseen.number);
    selected->blocks_executed++;
}

void put_block(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    struct block *block = find_block(address, bytes, instructions);
    if (block->instructions == 0) {
        if (2 * ++selected->blocks_known > selected->block_capacity) {
            grow();
            block = find_block(address, bytes, instructions);
        }
        uint32_t number = describe(address, bytes, instructions);
        *block = (struct block){ address, bytes, instructions, number };
    }
    put_selected();
    put_word(block->number);
    selected->blocks_executed++;
    if (atomic_load_explicit(&tail->used, memory_order_relaxed) >= 4 * WORDS_UNFLUSHED) {
        stream_flush();
    }
}

uint64_t stream_blocks(void)
{
    return selected->blocks_executed;
}

void put_thread(uint32_t number, const char *name, uint64_t blocks_before)
{
    unsigned char payload[16 + 48];
    size_t length = strlen(name);
    if (length > sizeof payload - 16) {
        length = sizeof payload - 16;
    }
    uint32_t head[2] = { number, (uint32_t)length };
    memcpy(payload, head, sizeof head);
    memcpy(payload + sizeof head, &blocks_before, sizeof blocks_before);
    memcpy(payload + 16, name, length);
    put_record(RECORD_THREAD, payload, 16 + length);
}

void put_switch(uint32_t number)
{
    put_record(RECORD_SWITCH, &number, sizeof number);
}

struct stream_process *stream_process(void)
{
    struct stream_process *process = calloc(1, sizeof *process);
    if (process == NULL) {
        return NULL;
    }
    process->unseen.number = UINT32_MAX;
    process->block_capacity = 1 << 12;
    process->blocks = calloc(process->block_capacity, sizeof *process->blocks);
    if (process->blocks == NULL) {
        free(process);
        return NULL;
    }
    return process;
}

void stream_forget(struct stream_process *process)
{
    free(process->blocks);
    free(process);
}

void stream_select(struct stream_process *process)
{
    selected = process;
    selected_number = process->number;
}

void stream_select_first(void)
{
    selected_number = 0;
}

void put_process(const char *description, size_t bytes)
{
    static unsigned char payload[MAX_DESCRIPTION_BYTES + sizeof(uint32_t)];
    selected->number = selected_number = reported_number = ++processes_named;
    memcpy(payload, &reported_number, sizeof reported_number);
    memcpy(payload + sizeof reported_number, description, bytes);
    put_payload(RECORD_PROCESS, payload, sizeof reported_number + bytes);
}

void put_end(void)
{
    put_record(RECORD_END, NULL, 0);
}

bool stream_open(int pipe, int tail_fd)
{
    void *shared = mmap(NULL, TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    if (shared == MAP_FAILED) {
        return false;
    }
    tail = shared;
    pipe_fd = pipe;
    is_read = true;
    static const char magic[8] = "FPSTRM01";
    memcpy(tail->data, magic, sizeof magic);
    atomic_store(&tail->used, sizeof magic);
    return true;
}
