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

/* Blocks executed so far. */
uint64_t stream_blocks(void);

/* Numbers of threads and blocks are a process's own. The first one made needs no name. */
#define MAX_DESCRIPTION_BYTES 32768
struct stream_process;
struct stream_process *stream_process(void); /* NULL without memory */
void stream_forget(struct stream_process *);

/* What follows is of this process. */
void stream_select(struct stream_process *);

/* Only META records follow, of the first process. */
void stream_select_first(void);

/* The process selected has this name, program and arguments, each behind a zero byte but the
 * first. */
void put_process(const char *description, size_t bytes);

/* What follows is executed by this thread, which has a name and had so many blocks before. */
void put_thread(uint32_t number, const char *name, uint64_t blocks_before);

/* What follows is executed by this thread, which was named. */
void put_switch(uint32_t number);

/* The program ended in order. */
void put_end(void);

/* Write what is collected to the pipe. */
void stream_flush(void);

#endif
