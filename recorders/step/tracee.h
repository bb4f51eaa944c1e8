/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The processes and threads that the stepper traces, and the functions of its
 * files. One process is current at a time: functions without a process or thread
 * as an argument concern that one, and so does all output.
 */
#ifndef FLASHPAGER_STEP_TRACEE_H
#define FLASHPAGER_STEP_TRACEE_H

#include "machine.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE UINT64_C(4096)
#define PATH_BYTES 4096
#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))

/* A mapping of a program's memory. */
struct region {
    uint64_t start, end, offset;
    bool is_executable;
    bool is_constant; /* only system calls change its bytes */
};

/* A mapping that the stream has as a MAP record. */
struct reported_map {
    uint64_t start, end, offset;
    char *path;
};

/* A process, as long as it executes one program. */
struct process {
    pid_t id;
    bool is_first;   /* the process on the command line, whose exit code the stepper returns */
    uint32_t number; /* in the order of start; exec() keeps it */
    struct output_process *output;
    uint32_t threads_seen;
    uint32_t current_thread; /* the thread of the blocks at the stream's end */
    bool names_threads;      /* the stream distinguishes threads */
    bool ignores_trap;       /* the program ignores SIGTRAP */
    int memory;              /* /proc/ID/mem; -1 if it cannot be opened */
    struct region *regions;
    size_t region_count;
    bool regions_are_stale;
    struct reported_map *reported_maps;
    size_t reported_map_count;
    uint64_t age; /* number of system calls that have ended */
    /* Pages of constant code, each valid for one age. */
    struct code_page {
        uint64_t address;
        uint64_t age;
        unsigned char bytes[4096];
    } pages[256];
};

struct thread {
    pid_t id;
    struct process *process;
    uint32_t number;
    bool is_named;      /* the stream has its THREAD record */
    bool is_stopped;
    bool is_stepping;   /* runs, or ran, until the next instruction has been executed */
    bool is_in_call;    /* between a system call's entry and its exit */
    bool restarts;      /* the system call is done again unless a handler runs */
    bool blocks_trap;   /* the program blocks SIGTRAP, and the kernel does not know */
    bool has_child;     /* its call has started a process that is followed */
    bool is_new;        /* it has not been stepped yet */
    bool popped_flags;  /* the kernel may take the stepper's trap flag for the program's own */
    bool holds_trap;    /* a SIGTRAP from outside waits until it is not blocked */
    siginfo_t held;
    registers before;             /* at the next instruction */
    struct instruction now, call; /* the next instruction; the system call's instruction */
    uint64_t returns_to;          /* return address of a vsyscall, which the kernel executes */
    uint64_t call_number;
    struct monitor monitor;
    /* The block that is being collected: [start, next). */
    uint64_t start, next;
    uint32_t instructions;
};

extern bool threads_together; /* one stream, in the order executed */
extern bool follows_children;
extern bool has_begun; /* the program has begun */

extern struct process *current;
extern struct thread **threads; /* of all processes */
extern size_t thread_count;
extern uint32_t processes_seen;

/* processes.c: the lists of processes and threads. */

/* Ends the stepper, with the reason in the stream. */
_Noreturn void refuse(const char *reason);

/* Returns an array of `count` items with room for one more, at the same or
 * another address. It must have been grown by this function alone. */
void *grow(void *items, size_t count, size_t size);

/* Makes a process current. */
void select_process(struct process *);
/* Returns NULL if there is none. */
struct process *find_process(pid_t);
/* Adds a process, or an existing process with its new program, and makes it current. */
void add_process(pid_t, uint32_t number);
/* Removes the current process and its threads. */
void drop_process(void);
/* Opens the current process's memory. Returns false if that is forbidden. */
bool open_memory(void);
/* Names the current process in the stream, with its program and arguments. */
void announce_process(void);

/* Returns NULL if there is none. */
struct thread *find_thread(pid_t);
/* Adds a thread of the current process. */
struct thread *add_thread(pid_t);
/* Ends a thread's block and removes the thread. */
void drop_thread(struct thread *);

/* Reads up to `bytes` of /proc/ID/NAME. Returns how many it read. */
size_t read_proc_file(pid_t, const char *name, char *into, size_t bytes);
/* Returns a set of signals of /proc/ID/status: bit n - 1 is signal n. */
uint64_t signal_set(pid_t, const char *name);
/* Returns the process of a thread, or 0 if it is gone. */
pid_t process_of(pid_t thread);

/* code.c: the current process's mappings and code. */

/* Returns the mapping with this address, or NULL. */
const struct region *region_at(uint64_t address);
/* Decodes the instruction at an address; 0 bytes if it cannot be fetched. */
struct instruction instruction_at(uint64_t address);

/* blocks.c: from instructions to blocks of the stream. */

/* Writes a thread's block to the stream, if the thread has one. */
void end_block(struct thread *);
/* Adds an instruction that was fetched to the thread's block. */
void count_fetch(struct thread *, const struct instruction *);
/* Adds the instructions that a step of a thread has executed. */
void count_completed(struct thread *, const registers *after);
/* Decodes the next instruction of a stopped thread. */
void decode_next(struct thread *);

/* trap.c: handling of SIGTRAP that the program cannot notice. */

/* Unblocks SIGTRAP of a thread that blocks it. Otherwise a step would unblock it
 * and also remove its handler. */
void unblock_trap(struct thread *);
/* Blocks it again, before the kernel uses the thread's signal mask. */
void block_trap(struct thread *);
/* Corrects the old action that the kernel returned from sigaction(SIGTRAP). */
void restore_ignored_trap(struct thread *);
/* Handles a SIGTRAP. Returns SIGTRAP if the program gets it, or else 0. */
int on_trap(struct thread *, const siginfo_t *, const registers *after);

/* stops.c: stops of threads, in the order in which they are handled. */

/* Traces until the last process has ended. */
void trace_until_end(void);

#endif
