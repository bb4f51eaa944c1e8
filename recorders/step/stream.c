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

enum record_kind { RECORD_META = 1, RECORD_MAP = 2, RECORD_BLOCK = 3, RECORD_END = 4 };

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

/* The blocks described since the last MAP, by open addressing. */
struct block {
    uint64_t address;
    uint32_t bytes;
    uint32_t instructions; /* 0: a free place */
    uint32_t number;
};
static struct block *blocks;
static size_t block_places; /* a power of two */
static size_t blocks_known;
static uint32_t block_count;
/* The block without instructions described last. */
static struct block unseen = { .number = UINT32_MAX };

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

static void put_record(enum record_kind kind, const void *payload, size_t bytes)
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
    memset(blocks, 0, block_places * sizeof *blocks);
    blocks_known = 0;
}

static struct block *place_of(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    uint64_t hash = (address ^ (uint64_t)bytes << 48) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> 32);; i++) {
        struct block *block = &blocks[i & (block_places - 1)];
        if (block->instructions == 0 || (block->address == address && block->bytes == bytes &&
                                         block->instructions == instructions)) {
            return block;
        }
    }
}

static void grow(void)
{
    struct block *old = blocks;
    size_t places = block_places;
    blocks = calloc(2 * places, sizeof *blocks);
    if (blocks == NULL) {
        abort(); /* the program goes on without us: nothing is told that is not so */
    }
    block_places = 2 * places;
    for (size_t i = 0; i < places; i++) {
        if (old[i].instructions != 0) {
            *place_of(old[i].address, old[i].bytes, old[i].instructions) = old[i];
        }
    }
    free(old);
}

static uint32_t describe(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32), bytes, instructions };
    put_record(RECORD_BLOCK, payload, sizeof payload);
    return block_count++;
}

void put_unseen(uint64_t address)
{
    if (unseen.number == UINT32_MAX || unseen.address != address) {
        unseen = (struct block){ .address = address, .number = describe(address, 0, 0) };
    }
    put_word(unseen.number);
}

void put_block(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    struct block *block = place_of(address, bytes, instructions);
    if (block->instructions == 0) {
        if (2 * ++blocks_known > block_places) {
            grow();
            block = place_of(address, bytes, instructions);
        }
        uint32_t number = describe(address, bytes, instructions);
        *block = (struct block){ address, bytes, instructions, number };
    }
    put_word(block->number);
    if (atomic_load_explicit(&tail->used, memory_order_relaxed) >= 4 * WORDS_UNFLUSHED) {
        stream_flush();
    }
}

void put_end(void)
{
    put_record(RECORD_END, NULL, 0);
}

bool stream_open(int pipe, int tail_fd)
{
    block_places = 1 << 12;
    blocks = calloc(block_places, sizeof *blocks);
    void *shared = mmap(NULL, TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    if (shared == MAP_FAILED || blocks == NULL) {
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
