/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flashpager's QEMU recorder: a TCG plugin that streams every executed
 * translation block, in the order executed.
 *
 *   qemu-x86_64 -plugin recorder.so,pipe=FD,tail=FD program ...
 *
 *   pipe=FD   write end of the pipe to which the stream goes
 *   tail=FD   a shared-memory file of TAIL_BYTES and one slot: the recorder
 *             collects the stream there before it writes it to the pipe, so
 *             that the reader finds the last, unwritten piece even when the
 *             program is killed
 *   reads=START-END  data reads that touch these addresses, as linked, are
 *             told, too; may be there several times
 *   linked=ADDRESS   where the program's executable segments were linked for,
 *             in user mode; without it it runs where it was linked for
 *   one-stream  all threads together, in the order executed; else a THREAD or
 *             SWITCH record says whose blocks follow, once there are several
 *
 * The stream is described in docs/formats.md ("Recorder stream"): the magic,
 * then 32-bit little-endian words. A word below 2^31 is the number of an
 * executed block; any other word heads a record (kind, payload bytes).
 *
 * Every instruction counts when it begins, in a counter of its processor. When
 * the next block begins, that counter tells how far the block before it came: a
 * fault, a store into the block itself or an access to a device may have cut it
 * short, and QEMU before 8.0 tells of an instruction at a page's end that it
 * then leaves to the next block. What was executed of such a block is described
 * as a block of its own. So a block is told when it has ended; until then it
 * stands in shared memory, for a reader whose program is killed.
 */
#define _GNU_SOURCE
#include "qemu_plugin_api.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define TAIL_BYTES (256u * 1024u)
#define SLOT_BYTES (32u * 1024u)
#define RECORD_FLAG UINT32_C(0x80000000)
#define PATH_BYTES 4096

enum record_kind {
    RECORD_META = 1,
    RECORD_MAP = 2,
    RECORD_BLOCK = 3,
    RECORD_END = 4,
    RECORD_THREAD = 6,
    RECORD_SWITCH = 8,
    RECORD_READ = 10,
};

/* QEMU reads this after dlopen(). 9.0 refuses version 1, 8.2 refuses version 2,
 * so pick_version() sets it to what the host understands. */
EXPORT int qemu_plugin_version = 1;

/* The head of the shared-memory file. `base` counts the stream bytes already
 * written to the pipe; `used` the bytes in `data` that follow them. */
struct tail {
    _Atomic uint64_t base;
    _Atomic uint64_t used;
    unsigned char data[];
};

/* What a processor executes and the stream does not yet tell. `stream_position` is the
 * place in the stream where its number goes, as soon as that is known: a stream
 * that reaches further tells it already. */
struct running {
    _Atomic uint64_t stream_position;
    _Atomic uint64_t address;
    _Atomic uint64_t begun;
    _Atomic uint64_t thread; /* its number, and BEGUN_IN_DOUBT if it may not have come so far */
};

#define MAX_RUNNING 1023
#define BEGUN_IN_DOUBT (UINT64_C(1) << 32)

/* The slot behind the tail (docs/formats.md). */
struct running_slot {
    uint32_t kind;
    _Atomic uint32_t names_threads; /* 1 once the stream names threads */
    uint32_t unused[6];
    struct running processors[MAX_RUNNING];
};
#define SLOT_RUNNING UINT32_MAX
static_assert(sizeof(struct running_slot) == SLOT_BYTES, "a slot's size");

/* How the instructions of a block are counted: each adds its bytes to the low
 * half and one to the high half. */
#define ONE_INSTRUCTION (UINT64_C(1) << 32)
#define NEVER UINT64_MAX

/* A part of a block, from its beginning, that was executed alone. */
struct piece {
    struct piece *next;
    uint64_t begun;
    uint32_t number;
};

struct block {
    uint64_t address;
    /* What is counted when all of it is executed, and what the common case
     * compares with: the same, or NEVER if there is more to look at. */
    uint64_t whole;
    uint64_t usual;
    struct piece *pieces;
    uint32_t number;
    uint32_t again;      /* its last instruction, once more; 0 if that is not described */
    uint32_t last_bytes; /* what is told of that */
    uint32_t accesses;   /* of one iteration of it, if it repeats */
    bool alone;       /* one instruction, which may be one that QEMU begins again */
    bool may_return;  /* its last instruction may lead to itself */
    bool repeats;     /* that is a repeated instruction, whose accesses are counted */
    bool maybe_short; /* its last instruction may be two bytes shorter than told */
    bool in_doubt;    /* a killed program may not have executed all that is told of it */
    uint64_t leads_to; /* a branch of ARM leads there, if its last instruction is one */
};

/* A read of data by the block at hand. */
struct data_read {
    uint64_t address;
    uint64_t begun; /* of the block, the instruction that read included */
    uint32_t bytes;
};

static struct tail *tail;
static size_t tail_capacity;
static struct running_slot *slot;
static struct running *running;
static struct {
    struct block *block;
    uint64_t accesses; /* of its repeated instruction */
    bool repetition;   /* it is the last instruction of the block before */
    uint32_t thread;   /* that it executes now; another one may have its place later */
    struct data_read *reads; /* of its block */
    size_t read_count;
    size_t read_capacity;
} current[MAX_RUNNING];
static bool one_stream;
static unsigned int current_vcpu; /* the processor whose blocks the stream tells */
/* Block numbers in the stream. The first thread's THREAD record comes when a
 * second one begins, and says how many were told before, all of the first.
 * Nobody needs the count from then on. */
static uint64_t blocks_of_first;
static uint32_t thread_count;
static struct qemu_plugin_scoreboard *counters; /* from version 2 on */
static bool several_processors;
static enum { OTHER, ARM, AARCH64, RISCV, X86 } target;
static int api_version;
static bool repeats_within; /* QEMU may repeat an instruction without leaving its block */
static int pipe_fd = -1;
static bool recording;
static bool system_emulation;
static bool described; /* the META records that need a running CPU are out */
static uint32_t block_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

/* Address ranges already told, or not worth reporting. */
struct range {
    uint64_t start;
    uint64_t end;
};
struct ranges {
    struct range *items;
    size_t count;
    size_t capacity;
};
static struct ranges guest_known; /* guest addresses */
static struct ranges host_own;    /* QEMU's own files, mapped before the guest's */

/* Where reads are told: as linked, and from the first block on in guest memory. */
static struct ranges watched_reads;
static struct range watched_reads_span; /* from the lowest to the highest of them */
static uint64_t linked_code = NEVER;
static bool placed_reads;

__attribute__((constructor)) static void pick_version(void)
{
    /* qemu_plugin_num_vcpus replaced qemu_plugin_n_vcpus in version 2. */
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus") != NULL) {
        qemu_plugin_version = 2;
    }
}

static void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
        sched_yield(); /* the holder may be waiting for the reader */
    }
}

static void release(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void flush(void)
{
    uint64_t used = atomic_load_explicit(&tail->used, memory_order_relaxed);
    uint64_t sent = 0;
    while (sent < used) {
        ssize_t n = write(pipe_fd, tail->data + sent, used - sent);
        if (n > 0) {
            sent += (uint64_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            recording = false; /* the reader has gone: nothing is left to do */
            break;
        }
    }
    /* In this order a kill in between loses nothing and repeats nothing. */
    atomic_store_explicit(&tail->used, 0, memory_order_release);
    atomic_fetch_add_explicit(&tail->base, used, memory_order_release);
}

static inline void put_word(uint32_t word)
{
    uint64_t used = atomic_load_explicit(&tail->used, memory_order_relaxed);
    if (used + sizeof word > tail_capacity) {
        flush();
        used = 0;
    }
    memcpy(tail->data + used, &word, sizeof word);
    atomic_store_explicit(&tail->used, used + sizeof word, memory_order_release);
}

/* Payloads are padded with zeros to a whole number of words. */
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

static void put_meta(const char *key, const char *value)
{
    char text[PATH_BYTES + 64];
    int n = snprintf(text, sizeof text, "%s=%s", key, value);
    if (n > 0 && (size_t)n < sizeof text) {
        put_record(RECORD_META, text, (size_t)n);
    }
}

static bool contains(const struct ranges *ranges, uint64_t address)
{
    for (size_t i = 0; i < ranges->count; i++) {
        if (address >= ranges->items[i].start && address < ranges->items[i].end) {
            return true;
        }
    }
    return false;
}

static bool add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
        struct range *grown = realloc(ranges->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        ranges->items = grown;
        ranges->capacity = capacity;
    }
    ranges->items[ranges->count++] = (struct range){ start, end };
    return true;
}

struct mapped_file {
    uint64_t start; /* host address */
    uint64_t end;
    uint64_t offset; /* in the file */
    const char *path;
};

/* Call `take` for every file mapped into this process. */
static void for_each_mapped_file(void (*take)(const struct mapped_file *file, uint64_t argument),
                                 uint64_t argument)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return;
    }
    char line[PATH_BYTES + 128];
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long start, end, offset, inode;
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %*s %llx %*s %llu %n", &start, &end, &offset, &inode,
                   &path_at) >= 4 && inode != 0 && path_at != 0) {
            take(&(struct mapped_file){ start, end, offset, line + path_at }, argument);
        }
    }
    fclose(maps);
}

static void keep_own_file(const struct mapped_file *file, uint64_t unused)
{
    (void)unused;
    add(&host_own, file->start, file->end);
}

/* Tell of a file in guest memory, once. Host addresses are guest addresses
 * plus `guest_base`. */
static void put_guest_file(const struct mapped_file *file, uint64_t guest_base)
{
    size_t length = strlen(file->path);
    if (file->start < guest_base || length > PATH_BYTES || contains(&host_own, file->start) ||
        contains(&guest_known, file->start - guest_base) ||
        !add(&guest_known, file->start - guest_base, file->end - guest_base)) {
        return;
    }
    unsigned char payload[24 + PATH_BYTES];
    uint64_t fields[3] = { file->start - guest_base, file->end - guest_base, file->offset };
    memcpy(payload, fields, sizeof fields);
    memcpy(payload + sizeof fields, file->path, length);
    put_record(RECORD_MAP, payload, sizeof fields + length);
}

/* Describe a block; its number is the next one. */
static uint32_t put_block(uint64_t address, uint64_t executed)
{
    uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32), (uint32_t)executed,
                            (uint32_t)(executed >> 32) };
    put_record(RECORD_BLOCK, payload, sizeof payload);
    return block_count++;
}

/* Whether `next` is the last instruction executed of a block. */
static bool is_last_of(const struct block *block, uint64_t executed, const struct block *next)
{
    return next->alone && executed >= ONE_INSTRUCTION && next->address >= block->address &&
           next->address + (uint32_t)next->whole == block->address + (uint32_t)executed;
}

/* QEMU begins an instruction again, alone in a block, if it stores into its own
 * block or cannot be done while other processors run. */
static bool begun_again(const struct block *block, uint64_t executed, uint64_t accesses,
                        const struct block *next)
{
    if (!is_last_of(block, executed, next)) {
        return false;
    }
    if (executed != block->whole) {
        return true;
    }
    return next != block && !block->may_return && (!block->repeats || accesses == 0);
}

/* Whether a block that is told whole may have ended before. What cut it short leads elsewhere. */
static bool is_in_doubt(const struct block *block, uint64_t accesses, const struct block *next)
{
    uint64_t end = block->address + (uint32_t)block->whole;
    if (next != NULL && next->address == end) {
        return false;
    }
    if (block->maybe_short) {
        /* A program of Thumb that may not fetch the instruction which follows. */
        return next == NULL || next->address != block->leads_to;
    }
    /* A fault behind the first iteration, which QEMU does not tell. */
    return block->repeats && repeats_within && accesses > 0 &&
           (next == NULL || next->address != end - block->last_bytes);
}

/* Which number tells what was executed of a block; NEVER for nothing at all. What did not count is
 * taken off `executed_of_it`. */
static uint64_t number_of(unsigned int vcpu, uint64_t *executed_of_it, const struct block *next)
{
    uint64_t executed = *executed_of_it;
    struct block *block = current[vcpu].block;
    uint64_t accesses = current[vcpu].accesses;
    bool repetition = current[vcpu].repetition;
    current[vcpu].repetition = next != NULL && next->repeats && is_last_of(block, executed, next);
    if (repetition && accesses == 0 && next != NULL &&
        next->address == block->address + (uint32_t)executed) {
        /* QEMU comes once more to find that nothing is left to repeat. */
        return NEVER;
    }
    if (next != NULL && begun_again(block, executed, accesses, next)) {
        executed -= ONE_INSTRUCTION + (uint32_t)next->whole;
        *executed_of_it = executed;
        if (executed == 0) {
            return NEVER;
        }
    } else if (block->maybe_short && executed == block->whole && next != NULL &&
               next->address == block->address + (uint32_t)executed - 2) {
        /* It goes on inside what was told of its last instruction. */
        block->maybe_short = false;
        block->usual = block->whole;
        block->number = put_block(block->address, executed - 2);
        return block->number;
    }
    if (executed == block->whole) {
        if (is_in_doubt(block, accesses, next)) {
            put_meta("in_doubt", "1");
        }
        return block->number;
    }
    for (const struct piece *piece = block->pieces; piece != NULL; piece = piece->next) {
        if (piece->begun == executed) {
            return piece->number;
        }
    }
    uint32_t number = put_block(block->address, executed);
    struct piece *piece = malloc(sizeof *piece);
    if (piece != NULL) {
        *piece = (struct piece){ block->pieces, executed, number };
        block->pieces = piece;
    }
    return number;
}

/* QEMU from 10.0 on repeats an instruction within its block, which its accesses tell. */
static void put_repetitions(struct block *block, uint64_t accesses)
{
    for (uint64_t i = accesses / block->accesses; i > 1; i--) {
        if (block->again == 0) {
            uint64_t address = block->address + (uint32_t)block->whole - block->last_bytes;
            block->again = put_block(address, ONE_INSTRUCTION + block->last_bytes);
        }
        put_word(block->again);
        blocks_of_first++;
    }
}

/* The counter to which a processor's instructions add. */
static _Atomic uint64_t *counter_of(unsigned int vcpu)
{
    return counters == NULL ? &running[vcpu].begun : qemu_plugin_scoreboard_find(counters, vcpu);
}

/* Name a processor's thread. What follows in the stream is executed by it. */
static void put_thread(unsigned int vcpu, uint64_t blocks_before)
{
    unsigned char payload[16 + 32];
    char *name = (char *)payload + 16;
    uint32_t thread = current[vcpu].thread;
    if (thread == 0 && !system_emulation) {
        snprintf(name, 32, "main");
    } else {
        snprintf(name, 32, "%s-%u", system_emulation ? "processor" : "thread", thread + 1);
    }
    uint32_t head[2] = { thread, (uint32_t)strlen(name) };
    memcpy(payload, head, sizeof head);
    memcpy(payload + sizeof head, &blocks_before, sizeof blocks_before);
    put_record(RECORD_THREAD, payload, 16 + strlen(name));
    current_vcpu = vcpu;
}

/* Tell what the block whose number follows has read. */
static void put_reads(unsigned int vcpu, uint64_t executed)
{
    for (size_t i = 0; i < current[vcpu].read_count; i++) {
        const struct data_read *read = &current[vcpu].reads[i];
        if (read->begun <= executed) {
            uint32_t payload[4] = { (uint32_t)read->address, (uint32_t)(read->address >> 32),
                                    read->bytes, (uint32_t)read->begun };
            put_record(RECORD_READ, payload, sizeof payload);
        }
    }
}

/* A processor's block has ended, and `next` begins, if any. */
static inline void change_block(unsigned int vcpu, struct block *next)
{
    struct running *now = &running[vcpu];
    struct block *block = current[vcpu].block;
    _Atomic uint64_t *counter = counter_of(vcpu);
    if (block != NULL) {
        if (vcpu != current_vcpu && !one_stream) {
            put_record(RECORD_SWITCH, &current[vcpu].thread, sizeof current[vcpu].thread);
            current_vcpu = vcpu;
        }
        uint64_t begun = atomic_load_explicit(counter, memory_order_relaxed);
        uint64_t number = block->number;
        if (begun != block->usual || (next != NULL && next->alone)) {
            number = number_of(vcpu, &begun, next);
        }
        if (number != NEVER) {
            if (current[vcpu].read_count > 0) {
                put_reads(vcpu, begun);
            }
            uint64_t place = atomic_load_explicit(&tail->base, memory_order_relaxed) +
                             atomic_load_explicit(&tail->used, memory_order_relaxed);
            atomic_store_explicit(&now->stream_position, place, memory_order_release);
            put_word((uint32_t)number);
            blocks_of_first++;
        }
        if (block->repeats) {
            put_repetitions(block, current[vcpu].accesses);
        }
    }
    current[vcpu].block = next;
    current[vcpu].accesses = 0;
    current[vcpu].read_count = 0;
    atomic_store_explicit(counter, 0, memory_order_release);
    if (next != NULL) {
        atomic_store_explicit(&now->address, next->address, memory_order_release);
        atomic_store_explicit(&now->thread,
                              current[vcpu].thread | (next->in_doubt ? BEGUN_IN_DOUBT : 0),
                              memory_order_release);
        if (counters != NULL) {
            /* QEMU counts where no reader looks. */
            atomic_store_explicit(&now->begun, next->whole, memory_order_release);
        }
    }
    atomic_store_explicit(&now->stream_position, NEVER, memory_order_release);
}

static void on_block_executed(unsigned int vcpu, void *block)
{
    static bool too_many;
    if (!recording) {
        return;
    }
    acquire();
    if (recording && vcpu < MAX_RUNNING) {
        change_block(vcpu, block);
    } else if (recording && !too_many) {
        put_meta("left_out", "threads: more than 1023 at once");
        too_many = true;
    }
    release();
}

/* Where the processors' own counters cannot be added to in line. */
static void on_instruction(unsigned int vcpu, void *amount)
{
    if (recording && vcpu < MAX_RUNNING) {
        atomic_store_explicit(&running[vcpu].begun,
                              atomic_load_explicit(&running[vcpu].begun, memory_order_relaxed) +
                                  (uint64_t)(uintptr_t)amount,
                              memory_order_release);
    }
}

/* QEMU 7.2 tells of loads, too, when only stores are asked for. */
static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                      void *wants_store)
{
    (void)address;
    if (recording && vcpu < MAX_RUNNING &&
        qemu_plugin_mem_is_store(info) == (wants_store != NULL)) {
        current[vcpu].accesses++;
    }
}

/* Data is read. Only what touches the placed image is kept. */
static void on_read(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *begun)
{
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    if (address >= watched_reads_span.end || address + bytes <= watched_reads_span.start ||
        qemu_plugin_mem_is_store(info) || !recording || vcpu >= MAX_RUNNING) {
        return;
    }
    bool is_watched = false;
    for (size_t i = 0; i < watched_reads.count && !is_watched; i++) {
        is_watched = address < watched_reads.items[i].end &&
                     address + bytes > watched_reads.items[i].start;
    }
    if (!is_watched) {
        return;
    }
    size_t place = current[vcpu].read_count;
    if (place == current[vcpu].read_capacity) {
        size_t capacity = place ? 2 * place : 64;
        struct data_read *grown = realloc(current[vcpu].reads, capacity * sizeof *grown);
        if (grown == NULL) {
            fprintf(stderr, "flashpager recorder: out of memory\n");
            _exit(1);
        }
        current[vcpu].reads = grown;
        current[vcpu].read_capacity = capacity;
    }
    current[vcpu].reads[place] =
        (struct data_read){ address, (uint64_t)(uintptr_t)begun, (uint32_t)bytes };
    current[vcpu].read_count = place + 1;
}

/* Tell what an instruction reads, up to whose end so much of its block has begun. */
static void watch_reads(struct qemu_plugin_insn *instruction, uint64_t begun)
{
    if (watched_reads.count > 0) {
        /* QEMU 7.2 tells of nothing when only loads are asked for. */
        qemu_plugin_register_vcpu_mem_cb(instruction, on_read, QEMU_PLUGIN_CB_NO_REGS,
                                         api_version < 2 ? QEMU_PLUGIN_MEM_RW : QEMU_PLUGIN_MEM_R,
                                         (void *)(uintptr_t)begun);
    }
}

/* From here on addresses are those of the running program. */
static void place_reads(void)
{
    uint64_t bias = linked_code == NEVER ? 0 : qemu_plugin_start_code() - linked_code;
    watched_reads_span = (struct range){ UINT64_MAX, 0 };
    for (size_t i = 0; i < watched_reads.count; i++) {
        struct range *range = &watched_reads.items[i];
        range->start += bias;
        range->end += bias;
        if (range->start < watched_reads_span.start) {
            watched_reads_span.start = range->start;
        }
        if (range->end > watched_reads_span.end) {
            watched_reads_span.end = range->end;
        }
    }
    placed_reads = true;
}

static void count(struct qemu_plugin_insn *instruction, size_t bytes)
{
    uint64_t amount = ONE_INSTRUCTION + bytes;
    if (counters != NULL) {
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
            instruction, QEMU_PLUGIN_INLINE_ADD_U64, (qemu_plugin_u64){ counters, 0 }, amount);
    } else if (!several_processors && qemu_plugin_register_vcpu_insn_exec_inline != NULL) {
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64,
                                                   &running[0].begun, amount);
    } else {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_instruction,
                                               QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)amount);
    }
}

/* The first bytes of an instruction; gives how many. */
static size_t first_bytes(const struct qemu_plugin_insn *instruction, unsigned char *bytes,
                          size_t most)
{
    size_t length = qemu_plugin_insn_size(instruction);
    if (length > most) {
        length = most;
    }
    void (*data)(void) = qemu_plugin_insn_data;
    if (api_version >= 3) {
        return ((qemu_plugin_insn_copy_t)data)(instruction, bytes, length);
    }
    memcpy(bytes, ((qemu_plugin_insn_look_t)data)(instruction), length);
    return length;
}

/* Whether Thumb has no instruction like one of these, the first ones of a block. */
static bool is_arm(const struct qemu_plugin_tb *tb, size_t instructions)
{
    for (size_t i = 0; i < instructions; i++) {
        unsigned char code[4] = { 0 };
        const struct qemu_plugin_insn *one = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_size(one) == 4 && first_bytes(one, code, sizeof code) == 4 &&
            code[1] >> 3 < 0x1d) {
            return true;
        }
    }
    return false;
}

/* What is to be known of a block's last instruction. */
static size_t examine_last(struct block *block, struct qemu_plugin_insn *last, bool is_thumb)
{
    unsigned char code[16] = { 0 };
    size_t reported = qemu_plugin_insn_size(last);
    size_t known = first_bytes(last, code, sizeof code);
    switch (target) {
    case ARM: {
        /* At a page's end, QEMU before 9.1 has looked at two bytes of the next
         * instruction of Thumb and tells them with the last. */
        bool wide = code[1] >> 3 >= 0x1d;
        block->may_return = true;
        if (reported > 4 || (reported == 4 && wide)) {
            return 4;
        }
        if (reported == 4 && is_thumb) {
            return 2;
        }
        block->maybe_short = reported == 4 && (qemu_plugin_insn_vaddr(last) + reported) % 1024 == 0;
        if ((code[3] & 0x0e) == 0x0a) { /* b, bl, blx */
            uint32_t words = code[0] | code[1] << 8 | (uint32_t)code[2] << 16;
            int64_t ahead = 4 * ((int64_t)(words ^ 0x800000) - 0x800000);
            bool is_blx = code[3] >> 4 == 0xf;
            block->leads_to = (qemu_plugin_insn_vaddr(last) + 8 + (uint64_t)ahead +
                               (is_blx && (code[3] & 1) ? 2 : 0)) & UINT32_MAX;
        }
        return reported;
    }
    case RISCV:
        /* The same. */
        block->may_return = true;
        return reported > 2 && (code[0] & 3) != 3 ? 2 : reported > 4 ? 4 : reported;
    case AARCH64:
        block->may_return = (code[3] >> 2 & 7) == 5;
        return reported;
    case X86: {
        /* Prefixes; 0x40 to 0x4f are such on x86-64 only. On i386 they are inc and dec, which
         * are one byte long, so that nothing is left to look at. */
        size_t at = 0;
        bool repeated = false;
        while (at < known && (strchr("\x66\x67\x2e\x36\x3e\x26\x64\x65\xf0\xf2\xf3", code[at]) ||
                              code[at] >> 4 == 4) && code[at] != 0) {
            repeated |= code[at] >> 1 == 0xf2 >> 1;
            at++;
        }
        unsigned char first = at < known ? code[at] : 0;
        unsigned char second = at + 1 < known ? code[at + 1] : 0;
        unsigned char kind = first & 0xfe;
        bool string = first >> 2 == 0x6c >> 2 || (first >= 0xa4 && first <= 0xaf && kind != 0xa8);
        bool stores = kind == 0x6c || kind == 0xa4 || kind == 0xaa;
        block->repeats = repeated && string;
        /* cmps compares two; ins writes once before, to see whether it may. */
        block->accesses = kind == 0xa6 || kind == 0x6c ? 2 : 1;
        block->may_return =
            (block->repeats && !stores) || first >> 4 == 7 || first >> 2 == 0xe0 >> 2 ||
            first >> 2 == 0xe8 >> 2 || kind == 0xc2 || kind == 0xca ||
            (first >= 0xcc && first <= 0xcf) || (first == 0x0f && second >> 4 == 8) ||
            (first == 0xff && (second >> 3 & 7) >= 2 && (second >> 3 & 7) <= 5); /* call, jmp */
        return reported;
    }
    default:
        block->may_return = true;
        return reported;
    }
}

static void on_block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t instructions = qemu_plugin_tb_n_insns(tb);
    if (!recording || instructions == 0 || block_count >= RECORD_FLAG / 2) {
        return;
    }
    struct block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        fprintf(stderr, "flashpager recorder: out of memory\n");
        _exit(1);
    }
    if (!placed_reads) {
        acquire();
        place_reads();
        release();
    }
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, instructions - 1);
    uint64_t address = block->address = qemu_plugin_tb_vaddr(tb);
    uint64_t at = address;
    bool is_thumb = address % 4 == 2;
    for (size_t i = 1; i < instructions; i++) {
        uint64_t next = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
        count(qemu_plugin_tb_get_insn(tb, i - 1), next - at);
        watch_reads(qemu_plugin_tb_get_insn(tb, i - 1), i * ONE_INSTRUCTION + (next - address));
        is_thumb |= next % 4 == 2;
        at = next;
    }
    size_t last_bytes = qemu_plugin_insn_size(last);
    if (last_bytes == 0) {
        /* A page of the kernel's, which QEMU stands in for: no code at all. */
        instructions--;
    } else {
        last_bytes = examine_last(block, last, is_thumb);
        block->last_bytes = (uint32_t)last_bytes;
        count(last, last_bytes);
        watch_reads(last, instructions * ONE_INSTRUCTION + (at + last_bytes - address));
    }
    block->whole = instructions * ONE_INSTRUCTION + (at + last_bytes - address);
    block->usual = block->repeats || block->maybe_short ? NEVER : block->whole;
    block->alone = instructions == 1;
    if (block->maybe_short && is_arm(tb, instructions - 1)) {
        block->maybe_short = false;
        block->usual = block->whole;
    }
    if (block->maybe_short || (counters != NULL && instructions > 1) ||
        (block->repeats && repeats_within)) {
        block->in_doubt = true;
    }
    if (block->repeats) {
        qemu_plugin_register_vcpu_mem_cb(last, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, block->may_return ? NULL : block);
    }

    acquire();
    if (!system_emulation) {
        if (!described) {
            char text[32];
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)qemu_plugin_start_code());
            put_meta("start_code", text);
            described = true;
        }
        if (instructions > 0 && !contains(&guest_known, address)) {
            const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
            uint64_t host = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first);
            for_each_mapped_file(put_guest_file, host - address);
            if (!contains(&guest_known, address)) {
                /* Code without a file (vdso, a JIT): do not look again. */
                add(&guest_known, address & ~UINT64_C(4095), (address | UINT64_C(4095)) + 1);
            }
        }
    }
    block->number = put_block(address, block->whole);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_executed, QEMU_PLUGIN_CB_NO_REGS, block);
    release();
}

/* QEMU translates anew when a second processor appears. */
static void on_processor(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    if (vcpu > 0) {
        several_processors = true;
    }
    acquire();
    if (recording && vcpu < MAX_RUNNING) {
        current[vcpu].thread = thread_count++;
        if (current[vcpu].thread > 0 && !one_stream) {
            if (current[vcpu].thread == 1) {
                put_thread(current_vcpu, blocks_of_first);
                atomic_store_explicit(&slot->names_threads, 1, memory_order_release);
            }
            put_thread(vcpu, 0);
        }
    }
    release();
}

/* A thread has ended, and with it its last block. */
static void on_processor_exit(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    acquire();
    if (recording && vcpu < MAX_RUNNING && current[vcpu].block != NULL) {
        change_block(vcpu, NULL);
    }
    release();
}

static void on_emulator_exit(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    if (recording) {
        acquire();
        for (unsigned int vcpu = 0; vcpu < MAX_RUNNING; vcpu++) {
            if (current[vcpu].block != NULL) {
                change_block(vcpu, NULL);
            }
        }
        put_record(RECORD_END, NULL, 0);
        flush();
        recording = false;
        release();
    }
}

/* What the program forks runs unrecorded. */
static void on_fork(void)
{
    acquire();
    if (recording) {
        put_meta("children", "1");
    }
    release();
}

/* A forked child is another program run: it must neither write into the shared
 * tail nor hold the pipe open. */
static void on_forked_child(void)
{
    recording = false;
    /* What is translated goes on counting, but not the parent's instructions. */
    mmap(tail, TAIL_BYTES + SLOT_BYTES, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (pipe_fd >= 0) {
        close(pipe_fd);
        pipe_fd = -1;
    }
}

static int take_fd(const char *text)
{
    /* High and close-on-exec: out of the way of guests that close low numbers. */
    int fd = fcntl(atoi(text), F_DUPFD_CLOEXEC, 512);
    if (fd < 0) {
        fd = fcntl(atoi(text), F_DUPFD_CLOEXEC, 3);
    }
    close(atoi(text));
    return fd;
}

static int target_named(const char *name)
{
    static const struct {
        const char *begins;
        int target;
    } known[] = { { "aarch64", AARCH64 }, { "arm", ARM },      { "riscv", RISCV },
                  { "i386", X86 },        { "x86_64", X86 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0) {
            return known[i].target;
        }
    }
    return OTHER;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    int tail_fd = -1;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "pipe=", 5) == 0) {
            pipe_fd = take_fd(argv[i] + 5);
        } else if (strncmp(argv[i], "tail=", 5) == 0) {
            tail_fd = take_fd(argv[i] + 5);
        } else if (strncmp(argv[i], "reads=", 6) == 0) {
            char *end;
            uint64_t from = strtoull(argv[i] + 6, &end, 0);
            uint64_t to = *end == '-' ? strtoull(end + 1, &end, 0) : 0;
            if (*end != '\0' || to <= from || !add(&watched_reads, from, to)) {
                fprintf(stderr, "flashpager recorder: '%s' is no range\n", argv[i]);
                return 1;
            }
        } else if (strncmp(argv[i], "linked=", 7) == 0) {
            linked_code = strtoull(argv[i] + 7, NULL, 0);
        } else if (strcmp(argv[i], "one-stream") == 0 || strcmp(argv[i], "one-stream=on") == 0) {
            one_stream = true;
        } else {
            fprintf(stderr, "flashpager recorder: unknown argument '%s'\n", argv[i]);
            return 1;
        }
    }
    if (pipe_fd < 0 || tail_fd < 0) {
        fprintf(stderr, "flashpager recorder: needs pipe=FD and tail=FD, both open\n");
        return 1;
    }
    void *shared =
        mmap(NULL, TAIL_BYTES + SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    close(tail_fd);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "flashpager recorder: cannot map the tail: %s\n", strerror(errno));
        return 1;
    }
    tail = shared;
    tail_capacity = TAIL_BYTES - sizeof *tail;
    slot = (void *)((unsigned char *)shared + TAIL_BYTES);
    slot->kind = SLOT_RUNNING;
    running = slot->processors;
    system_emulation = info->system_emulation;
    api_version = info->version.cur;
    /* QEMU 10.0 does, and 9.2 tells of the same version. */
    repeats_within = api_version >= 4;
    target = target_named(info->target_name);
    if (qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu != NULL) {
        counters = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    }
    recording = true;
    for_each_mapped_file(keep_own_file, 0);
    pthread_atfork(NULL, on_fork, on_forked_child);

    static const char magic[8] = "FPSTRM01";
    memcpy(tail->data, magic, sizeof magic);
    atomic_store(&tail->used, sizeof magic);
    put_meta("recorder", "qemu");
    put_meta("target", info->target_name);
    put_meta("mode", info->system_emulation ? "system" : "user");
    put_meta("in_doubt", "0");

    qemu_plugin_register_vcpu_init_cb(id, on_processor);
    qemu_plugin_register_vcpu_exit_cb(id, on_processor_exit);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block_translated);
    qemu_plugin_register_atexit_cb(id, on_emulator_exit, NULL);
    return 0;
}
