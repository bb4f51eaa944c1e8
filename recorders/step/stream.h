/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The recorder stream of docs/formats.md, as the stepper writes it.
 */
#ifndef FLASHPAGER_STEP_STREAM_H
#define FLASHPAGER_STEP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin the stream in the shared memory behind `tail_fd`; false with errno if that cannot be. */
bool stream_open(int pipe_fd, int tail_fd);

/* False once the reader has gone. */
bool stream_is_read(void);

void put_meta(const char *key, const char *value);

/* A file lies there in the program's memory. Later blocks are placed anew. */
void put_map(uint64_t start, uint64_t end, uint64_t offset, const char *path);

/* These bytes have been executed; the block is described when it is new. */
void put_block(uint64_t address, uint32_t bytes, uint32_t instructions);

/* Something has been executed there that cannot be looked at. */
void put_unseen(uint64_t address);

/* The program ended in order. */
void put_end(void);

/* Write what is collected to the pipe. */
void stream_flush(void);

#endif
