/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes the recorder stream, for recorders in C. recorders/README.md, "Recorder
 * stream", is the specification; recorders/stream/vectors.json has one record
 * of each kind with its bytes, which all writers are tested against.
 *
 * A recorder has one `struct stream`. It collects the stream in shared memory,
 * the tail, and writes it to a pipe when the tail is full. If the recorder is
 * killed, at any instruction, the tail's reader still gets the whole stream.
 */
#ifndef FLASHPAGER_RECORDER_STREAM_H
#define FLASHPAGER_RECORDER_STREAM_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the tail, its head included. */
#define STREAM_TAIL_BYTES (256u * 1024u)

/* Bytes of the longest path in a MAP record, and of a META record. */
#define STREAM_PATH_BYTES 4096u
#define STREAM_META_BYTES (STREAM_PATH_BYTES + 256u)

/* Bytes of the longest thread name. */
#define STREAM_NAME_BYTES 48u

/* Set in the word that begins a record; clear in the number of a block. */
#define STREAM_RECORD_FLAG UINT32_C(0x80000000)

enum stream_record {
    STREAM_META = 1,
    STREAM_MAP = 2,
    STREAM_BLOCK = 3,
    STREAM_END = 4,
    STREAM_THREAD = 6,
    STREAM_SWITCH = 8,
    STREAM_PROCESS = 9,
    STREAM_READ = 10,
    STREAM_GAP = 11,
};

/* The shared memory. `base` counts the stream bytes already written to the
 * pipe; `used` the bytes in `data` that follow them. */
struct stream_tail {
    _Atomic uint64_t base;
    _Atomic uint64_t used;
    unsigned char data[];
};

struct stream {
    struct stream_tail *tail;
    int pipe;
    bool is_read; /* false before stream_begin(), and once the reader has gone */
};

/* Begins the stream in `shared`, which has STREAM_TAIL_BYTES zeros. */
static inline void stream_begin(struct stream *stream, void *shared, int pipe)
{
    static const char magic[8] = { 'F', 'P', 'S', 'T', 'R', 'M', '0', '1' };
    stream->tail = shared;
    stream->pipe = pipe;
    stream->is_read = true;
    memcpy(stream->tail->data, magic, sizeof magic);
    atomic_store(&stream->tail->used, sizeof magic);
}

/* Returns the bytes in the tail. */
static inline uint64_t stream_unwritten(const struct stream *stream)
{
    return atomic_load_explicit(&stream->tail->used, memory_order_relaxed);
}

/* Returns how many bytes the stream has, written or not. */
static inline uint64_t stream_position(const struct stream *stream)
{
    return atomic_load_explicit(&stream->tail->base, memory_order_relaxed) +
           stream_unwritten(stream);
}

/* Writes the tail to the pipe and empties it. */
static inline void stream_flush(struct stream *stream)
{
    uint64_t used = stream_unwritten(stream);
    uint64_t sent = 0;
    while (stream->is_read && sent < used) {
        ssize_t n = write(stream->pipe, stream->tail->data + sent, used - sent);
        if (n > 0) {
            sent += (uint64_t)n;
        } else if (n == 0 || errno != EINTR) {
            stream->is_read = false;
        }
    }
    /* A recorder that is killed between these two neither loses nor repeats a byte. */
    atomic_store_explicit(&stream->tail->used, 0, memory_order_release);
    atomic_fetch_add_explicit(&stream->tail->base, used, memory_order_release);
}

/* Appends a word: the number of an executed block, or a part of a record. */
static inline void stream_put_word(struct stream *stream, uint32_t word)
{
    uint64_t used = stream_unwritten(stream);
    if (used + sizeof word > STREAM_TAIL_BYTES - sizeof *stream->tail) {
        stream_flush(stream);
        used = 0;
    }
    memcpy(stream->tail->data + used, &word, sizeof word);
    atomic_store_explicit(&stream->tail->used, used + sizeof word, memory_order_release);
}

/* Appends a record. Its payload is padded with zeros to whole words. */
static inline void stream_put_record(struct stream *stream, enum stream_record kind,
                                     const void *payload, size_t bytes)
{
    stream_put_word(stream, STREAM_RECORD_FLAG | (uint32_t)kind << 24 | (uint32_t)bytes);
    const unsigned char *p = payload;
    while (bytes > 0) {
        uint32_t word = 0;
        size_t n = bytes < sizeof word ? bytes : sizeof word;
        memcpy(&word, p, n);
        stream_put_word(stream, word);
        p += n;
        bytes -= n;
    }
}

/* Appends a META record `key=value`, cut off after STREAM_META_BYTES. */
static inline void stream_put_meta(struct stream *stream, const char *key, const char *value)
{
    char text[STREAM_META_BYTES];
    int n = snprintf(text, sizeof text, "%s=%s", key, value);
    if (n > 0) {
        stream_put_record(stream, STREAM_META, text,
                          (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    }
}

/* Appends a MAP record: the file `path` from `offset` on lies at [start, end) of
 * the program's memory. The caller leaves out paths above STREAM_PATH_BYTES. */
static inline void stream_put_map(struct stream *stream, uint64_t start, uint64_t end,
                                  uint64_t offset, const char *path)
{
    unsigned char payload[24 + STREAM_PATH_BYTES];
    uint64_t fields[3] = { start, end, offset };
    size_t length = strlen(path);
    memcpy(payload, fields, sizeof fields);
    memcpy(payload + sizeof fields, path, length);
    stream_put_record(stream, STREAM_MAP, payload, sizeof fields + length);
}

/* Appends the description of a block; the first one has number 0. */
static inline void stream_put_block(struct stream *stream, uint64_t address, uint32_t bytes,
                                    uint32_t instructions)
{
    uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32), bytes, instructions };
    stream_put_record(stream, STREAM_BLOCK, payload, sizeof payload);
}

/* Appends a data read of the block whose number comes next. The first `begun`
 * bytes of that block end with the instruction that reads. */
static inline void stream_put_read(struct stream *stream, uint64_t address, uint32_t bytes,
                                   uint32_t begun)
{
    uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32), bytes, begun };
    stream_put_record(stream, STREAM_READ, payload, sizeof payload);
}

/* Names a thread that has executed `blocks_before` blocks. The blocks that
 * follow are its own. Names are cut off after STREAM_NAME_BYTES. */
static inline void stream_put_thread(struct stream *stream, uint32_t number, const char *name,
                                     uint64_t blocks_before)
{
    unsigned char payload[16 + STREAM_NAME_BYTES];
    size_t length = strnlen(name, STREAM_NAME_BYTES);
    uint32_t head[2] = { number, (uint32_t)length };
    memcpy(payload, head, sizeof head);
    memcpy(payload + sizeof head, &blocks_before, sizeof blocks_before);
    memcpy(payload + 16, name, length);
    stream_put_record(stream, STREAM_THREAD, payload, 16 + length);
}

/* Switches to a thread that has been named: it executes the blocks that follow. */
static inline void stream_put_switch(struct stream *stream, uint32_t number)
{
    stream_put_record(stream, STREAM_SWITCH, &number, sizeof number);
}

/* Switches to a process that has been named, or to the first one, 0. */
static inline void stream_put_process(struct stream *stream, uint32_t number)
{
    stream_put_record(stream, STREAM_PROCESS, &number, sizeof number);
}

/* Reasons of a gap. */
enum stream_gap_reason {
    STREAM_GAP_BUFFER_FULL = 1,
    STREAM_GAP_LOST_PACKETS = 2,
    STREAM_GAP_DISCONTINUITY = 3,
    STREAM_GAP_OTHER_CODE = 4,
    STREAM_GAP_CUT = 5,
};

/* Says that so many instructions are missing here. */
static inline void stream_put_gap(struct stream *stream, enum stream_gap_reason reason,
                                  uint64_t instructions)
{
    uint32_t payload[3] = { (uint32_t)reason, (uint32_t)instructions,
                            (uint32_t)(instructions >> 32) };
    stream_put_record(stream, STREAM_GAP, payload, sizeof payload);
}

/* Appends the end mark: the program ended, and the stream is complete. */
static inline void stream_put_end(struct stream *stream)
{
    stream_put_record(stream, STREAM_END, NULL, 0);
}

#endif
