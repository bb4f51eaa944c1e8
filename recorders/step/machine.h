/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Properties of a processor that the stepper needs: the length of an instruction, and the kinds of
 * instructions for which a single step is not enough. */
#ifndef FLASHPAGER_STEP_MACHINE_H
#define FLASHPAGER_STEP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#ifdef __aarch64__
typedef struct user_regs_struct registers;
#define MAX_INSTRUCTION_BYTES 4
#else
typedef struct user_regs_struct registers;
#define MAX_INSTRUCTION_BYTES 15
#endif

/* The kernel's name of this processor. */
extern const char machine_name[];

enum instruction_kind {
    ORDINARY,
    BRANCH,      /* may be followed by an instruction elsewhere */
    SYSTEM_CALL, /* enters the kernel */
    REPEATED,    /* a step is one iteration of it */
    PUSHES_FLAGS,
    POPS_FLAGS,
    TRAPS,  /* raises SIGTRAP by itself */
    SHADOWS, /* the next instruction is executed in the same step */
    LOADS_EXCLUSIVE,
    STORES_EXCLUSIVE,
};

struct instruction {
    uint64_t address;
    uint32_t bytes; /* 0 if none can be fetched there */
    enum instruction_kind kind;
    unsigned char code[MAX_INSTRUCTION_BYTES];
};

/* Memory that an exclusive load monitors: the exclusive store succeeds only if it is unchanged. */
struct monitor {
    uint64_t address;
    uint32_t bytes; /* 0 if nothing is monitored */
    unsigned char value[16];
};

/* Finds the length and the kind of the instruction in the first `available` bytes of its code. */
void decode(struct instruction *instruction, size_t available);

bool read_registers(pid_t thread, registers *into);
bool write_registers(pid_t thread, const registers *from);

uint64_t program_counter(const registers *);

/* For a thread at the entry of a system call. */
uint64_t system_call_number(const registers *);
uint64_t system_call_argument(const registers *, int index);
/* For a thread at the exit of a system call. */
int64_t system_call_result(const registers *);

/* Returns true if the program itself wants a SIGTRAP after each instruction. */
bool steps_itself(const registers *);

/* Returns how often the instruction was fetched in a step. */
uint64_t fetches(const struct instruction *, const registers *before, const registers *after);

/* Hides stepping in the program's memory: in the flags that it has just pushed, or in the frame of
 * the signal handler that it has just entered. */
void hide_step_in_flags(const registers *after, int memory);
void hide_step_in_frame(const registers *entry, int memory);

/* Returns what an exclusive load has begun to monitor. */
struct monitor monitor_of_load(pid_t thread, const struct instruction *, const registers *before,
                       const registers *after);

/* Executes an exclusive store while nothing else of the program runs. Returns false if the
 * processor must execute it, because it faults. */
bool store_exclusive(pid_t thread, const struct instruction *, registers *,
                     const struct monitor *);

#endif
