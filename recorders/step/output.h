/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes the executed blocks as a recorder stream. Blocks are described before
 * their first execution, and numbered per process. When the process changes, a
 * record that names it comes first.
 */
#ifndef FLASHPAGER_STEP_OUTPUT_H
#define FLASHPAGER_STEP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest description of a process (name, program and arguments) in bytes. */
#define MAX_DESCRIPTION_BYTES 32768

/* Begins the stream in the shared memory behind `tail_fd`. Returns false, with
 * errno, if it cannot be mapped. */
bool output_open(int pipe_fd, int tail_fd);

/* Returns false once the reader has gone. */
bool output_is_read(void);

/* Writes the collected records to the pipe. */
void output_flush(void);

/* The blocks and maps of one process. The first process needs no name in the
 * stream. */
struct output_process;

/* Creates a process without blocks. Returns NULL if there is no memory. */
struct output_process *output_process_new(void);
void output_process_free(struct output_process *);

/* Selects the process that the next records belong to. */
void output_select(struct output_process *);

/* Selects the first process, for META records only. */
void output_select_first(void);

/* Writes the description of the selected process: its name, program and
 * arguments, separated by zero bytes. */
void put_process(const char *description, size_t bytes);

void put_meta(const char *key, const char *value);

/* Writes that a file is mapped at [start, end) of the program's memory, from
 * `offset` of the file on. Known blocks are described again when they are
 * executed next. */
void put_map(uint64_t start, uint64_t end, uint64_t offset, const char *path);

/* Writes the execution of a block. */
void put_block(uint64_t address, uint32_t bytes, uint32_t instructions);

/* Writes that code was executed at `address` which cannot be read. */
void put_unseen(uint64_t address);

/* Returns the number of blocks that the selected process has executed. */
uint64_t output_blocks(void);

/* Writes that a new thread executes the next blocks. It has already executed
 * `blocks_before` blocks. */
void put_thread(uint32_t number, const char *name, uint64_t blocks_before);

/* Writes that a thread, already named, executes the next blocks. */
void put_switch(uint32_t number);

/* Writes that the program's recording is complete. */
void put_end(void);

#endif
