/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the stepper has executed, written as a recorder stream. Blocks are
 * described when they are new, and numbered per process. A record that names the
 * process is put before the first of another process.
 */
#ifndef FLASHPAGER_STEP_OUTPUT_H
#define FLASHPAGER_STEP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a process's name, program and arguments. */
#define MAX_DESCRIPTION_BYTES 32768

/* Begins the stream in the shared memory behind `tail_fd`. Returns false, with
 * errno, if it cannot be mapped. */
bool output_open(int pipe_fd, int tail_fd);

/* Returns false once the reader has gone. */
bool output_is_read(void);

/* Writes what is collected to the pipe. */
void output_flush(void);

/* The blocks and maps of one process. The first process that is made needs no
 * name. */
struct output_process;

/* Returns NULL if there is no memory. */
struct output_process *output_process_new(void);
void output_process_free(struct output_process *);

/* Writes what follows for this process. */
void output_select(struct output_process *);

/* Writes META records that follow, and nothing else, for the first process. */
void output_select_first(void);

/* Names the selected process: its name, program and arguments, each but the
 * first after a zero byte. */
void put_process(const char *description, size_t bytes);

void put_meta(const char *key, const char *value);

/* A file lies at [start, end) of the program's memory. Known blocks are
 * described again when they are executed next. */
void put_map(uint64_t start, uint64_t end, uint64_t offset, const char *path);

/* A block was executed. */
void put_block(uint64_t address, uint32_t bytes, uint32_t instructions);

/* Code at `address` was executed that cannot be read. */
void put_unseen(uint64_t address);

/* Returns how many blocks the selected process has executed. */
uint64_t output_blocks(void);

/* A new thread, which had executed `blocks_before` blocks, executes what follows. */
void put_thread(uint32_t number, const char *name, uint64_t blocks_before);

/* A thread that was named executes what follows. */
void put_switch(uint32_t number);

/* The program ended in order. */
void put_end(void);

#endif
