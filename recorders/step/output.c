/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"

#include "../stream/stream.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Number of bytes in the tail after which it is written. Stepping would take
 * seconds to fill the tail, and the reader would not see the stream grow. */
#define UNWRITTEN_BYTES 16384u

struct block {
    uint64_t address;
    uint32_t bytes;
    uint32_t instructions; /* 0: a free entry of the table */
    uint32_t number;
};

struct output_process {
    uint32_t number;
    /* The blocks described since the last MAP: a hash table with open addressing. */
    struct block *blocks;
    size_t block_capacity; /* a power of two */
    size_t blocks_known;
    uint32_t block_count;
    uint64_t blocks_executed;
    struct block unseen; /* the last block without instructions */
};

static struct stream stream;
static uint32_t processes_named;
/* The process that the next record belongs to, and its number; the process of the last record. */
static struct output_process *selected;
static uint32_t selected_number, written_number;

bool output_is_read(void)
{
    return stream.is_read;
}

void output_flush(void)
{
    stream_flush(&stream);
}

static void put_selected(void)
{
    if (written_number != selected_number) {
        written_number = selected_number;
        stream_put_process(&stream, written_number);
    }
}

void put_meta(const char *key, const char *value)
{
    put_selected();
    stream_put_meta(&stream, key, value);
}

void put_map(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    if (strlen(path) > STREAM_PATH_BYTES) {
        return;
    }
    put_selected();
    stream_put_map(&stream, start, end, offset, path);
    /* The reader places a block when it is described. */
    memset(selected->blocks, 0, selected->block_capacity * sizeof *selected->blocks);
    selected->blocks_known = 0;
}

/* Returns the entry of a block, or the free one where it belongs. */
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

static void grow_table(void)
{
    struct block *old = selected->blocks;
    size_t capacity = selected->block_capacity;
    selected->blocks = calloc(2 * capacity, sizeof *selected->blocks);
    if (selected->blocks == NULL) {
        abort(); /* the program runs on unrecorded; the stream so far is right */
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
    put_selected();
    stream_put_block(&stream, address, bytes, instructions);
    return selected->block_count++;
}

void put_unseen(uint64_t address)
{
    if (selected->unseen.number == UINT32_MAX || selected->unseen.address != address) {
        selected->unseen = (struct block){ .address = address, .number = describe(address, 0, 0) };
    }
    put_selected();
    stream_put_word(&stream, selected->unseen.number);
    selected->blocks_executed++;
}

void put_block(uint64_t address, uint32_t bytes, uint32_t instructions)
{
    struct block *block = find_block(address, bytes, instructions);
    if (block->instructions == 0) {
        if (2 * ++selected->blocks_known > selected->block_capacity) {
            grow_table();
            block = find_block(address, bytes, instructions);
        }
        uint32_t number = describe(address, bytes, instructions);
        *block = (struct block){ address, bytes, instructions, number };
    }
    put_selected();
    stream_put_word(&stream, block->number);
    selected->blocks_executed++;
    if (stream_unwritten(&stream) >= UNWRITTEN_BYTES) {
        stream_flush(&stream);
    }
}

uint64_t output_blocks(void)
{
    return selected->blocks_executed;
}

void put_thread(uint32_t number, const char *name, uint64_t blocks_before)
{
    put_selected();
    stream_put_thread(&stream, number, name, blocks_before);
}

void put_switch(uint32_t number)
{
    put_selected();
    stream_put_switch(&stream, number);
}

void put_end(void)
{
    put_selected();
    stream_put_end(&stream);
}

struct output_process *output_process_new(void)
{
    struct output_process *process = calloc(1, sizeof *process);
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

void output_process_free(struct output_process *process)
{
    free(process->blocks);
    free(process);
}

void output_select(struct output_process *process)
{
    selected = process;
    selected_number = process->number;
}

void output_select_first(void)
{
    selected_number = 0;
}

void put_process(const char *description, size_t bytes)
{
    static unsigned char payload[MAX_DESCRIPTION_BYTES + sizeof(uint32_t)];
    selected->number = selected_number = written_number = ++processes_named;
    memcpy(payload, &written_number, sizeof written_number);
    memcpy(payload + sizeof written_number, description, bytes);
    stream_put_record(&stream, STREAM_PROCESS, payload, sizeof written_number + bytes);
}

bool output_open(int pipe_fd, int tail_fd)
{
    void *shared =
        mmap(NULL, STREAM_TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    if (shared == MAP_FAILED) {
        return false;
    }
    stream_begin(&stream, shared, pipe_fd);
    return true;
}
