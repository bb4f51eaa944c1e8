/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The declarations that the plugin's files share. The lock guards all variables
 * here except those of one processor alone.
 */
#ifndef FLASHPAGER_QEMU_PLUGIN_H
#define FLASHPAGER_QEMU_PLUGIN_H

#include "qemu_plugin_api.h"

#include "../stream/stream.h"

#include <assert.h>
#include <sched.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC visibility push(hidden)

/* Bytes of the slot after the tail. */
#define SLOT_BYTES (32u * 1024u)

/* A block that a processor has begun and that is not yet in the stream.
 * `position` is the position in the stream at which the block's number is
 * written, once that is known, or NEVER. If the stream is longer, it has the
 * block. */
struct running {
    _Atomic uint64_t position;
    _Atomic uint64_t address;
    _Atomic uint64_t begun;
    _Atomic uint64_t thread; /* its number; plus BEGUN_IN_DOUBT if `begun` may be too large */
};

#define MAX_RUNNING 1023
#define BEGUN_IN_DOUBT (UINT64_C(1) << 32)

/* The slot of processors (recorders/README.md). */
struct running_slot {
    uint32_t kind;
    _Atomic uint32_t names_threads; /* 1 once the stream names threads */
    uint32_t unused[6];
    struct running processors[MAX_RUNNING];
};
#define SLOT_RUNNING UINT32_MAX
static_assert(sizeof(struct running_slot) == SLOT_BYTES, "a slot's size");

/* Counters of executed code: each instruction adds its bytes to the low half
 * and one to the high half. */
#define ONE_INSTRUCTION (UINT64_C(1) << 32)
#define NEVER UINT64_MAX

/* The beginning of a block that was executed without the rest. */
struct piece {
    struct piece *next;
    uint64_t begun;
    uint32_t number;
};

struct block {
    uint64_t address;
    uint64_t whole; /* the counter when all of it has been executed */
    uint64_t usual; /* the same, or NEVER if its end must be examined at each execution */
    struct piece *pieces;
    uint32_t number;
    uint32_t again;      /* number of its last instruction alone; 0 if that is not described */
    uint32_t last_bytes; /* bytes of its last instruction */
    uint32_t accesses;   /* accesses of one iteration of its last instruction, if that repeats */
    bool alone;       /* it has one instruction, which QEMU may begin again */
    bool may_return;  /* its last instruction may lead to itself */
    bool repeats;     /* its last instruction is a repeated one, whose accesses are counted */
    bool maybe_short; /* its last instruction may be two bytes shorter than QEMU reports */
    bool in_doubt;    /* a killed program may not have executed all of it */
    uint64_t leads_to; /* target of the ARM branch at its end, or 0 */
};

/* A data read by the current block of a processor. */
struct data_read {
    uint64_t address;
    uint64_t begun; /* the block's counter, with the instruction that reads */
    uint32_t bytes;
};

struct processor {
    struct block *block; /* the block that has begun; NULL before the first */
    uint64_t accesses;   /* accesses of the block's repeated instruction */
    bool repetition;     /* the block is the last instruction of the one before */
    uint32_t thread;     /* executed here now; another thread may follow it */
    struct data_read *reads; /* data reads of the block */
    size_t read_count;
    size_t read_capacity;
};

/* Address ranges. */
struct range {
    uint64_t start;
    uint64_t end;
};
struct ranges {
    struct range *items;
    size_t count;
    size_t capacity;
};

extern struct stream stream; /* has a reader as long as the plugin records */
extern struct running_slot *slot;
extern struct running *running;
extern struct processor processors[MAX_RUNNING];
extern bool threads_together;     /* one stream, in the order executed */
extern unsigned int current_vcpu; /* the processor of the blocks at the stream's end */

/* Block numbers in the stream before a second thread begins. The first thread's
 * THREAD record then assigns them all to it. */
extern uint64_t blocks_of_first;
extern uint32_t thread_count;
extern uint32_t block_count; /* blocks described in the stream */

extern struct qemu_plugin_scoreboard *counters; /* NULL in version 1 of the interface */
extern bool several_processors;
extern enum target { OTHER, ARM, AARCH64, RISCV, X86, AVR, TRICORE, WORDS } target;
extern int api_version;
extern bool repeats_within; /* QEMU may repeat an instruction without leaving its block */
extern bool system_emulation;
extern atomic_flag lock;

/* Ranges whose data reads are recorded: linked addresses before the first block,
 * and afterwards addresses in guest memory. */
extern struct ranges watched_reads;
extern struct range watched_reads_span; /* from the lowest to the highest of them */

/* Address for which the program's executable segments were linked, or NEVER. */
extern uint64_t linked_code;

static inline void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
        sched_yield(); /* the holder may be waiting for the reader */
    }
}

static inline void release(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Ends the emulator, since without memory the stream would be wrong. */
_Noreturn void out_of_memory(void);

/* files.c: files in guest memory. */

bool in_ranges(const struct ranges *, uint64_t address);
/* Returns false if there is no memory. */
bool add_range(struct ranges *, uint64_t start, uint64_t end);
/* Remembers QEMU's own files, before the guest's are mapped. */
void remember_own_files(void);
/* Puts a MAP record for each new file into the stream, if the instruction at a
 * guest address is in no known file. */
void report_guest_files(uint64_t address, const struct qemu_plugin_insn *instruction);

/* translate.c: blocks that QEMU translates. */

void on_block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* execute.c: blocks that are executed. */

/* Describes a block; `executed` is its counter. Returns its number. */
uint32_t describe_block(uint64_t address, uint64_t executed);
/* Names a processor's thread in the stream. The blocks that follow are its own. */
void put_thread(unsigned int vcpu, uint64_t blocks_before);
/* Ends a processor's block, and begins `next` if it is not NULL. */
void change_block(unsigned int vcpu, struct block *next);
void on_block_executed(unsigned int vcpu, void *block);
/* Counts an instruction, if QEMU cannot count it with inline code. */
void on_instruction(unsigned int vcpu, void *amount);
/* Counts an access of a repeated instruction. */
void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *wants_store);
/* Keeps a data read, if it touches a watched range. */
void on_read(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *begun);

#pragma GCC visibility pop

#endif
