/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "plugin.h"

#include <stdlib.h>

uint32_t describe_block(uint64_t address, uint64_t executed)
{
    stream_put_block(&stream, address, (uint32_t)executed, (uint32_t)(executed >> 32));
    return block_count++;
}

/* Returns true if `next` is the last instruction that was executed of a block. */
static bool is_last_of(const struct block *block, uint64_t executed, const struct block *next)
{
    return next->alone && executed >= ONE_INSTRUCTION && next->address >= block->address &&
           next->address + (uint32_t)next->whole == block->address + (uint32_t)executed;
}

/* Returns true if QEMU begins an instruction again, alone in a block: it does
 * so if the instruction stores into its own block, or cannot be executed while
 * other processors run. */
static bool is_begun_again(const struct block *block, uint64_t executed, uint64_t accesses,
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

/* Returns true if a block that counts as whole may have ended early, because
 * `next` does not follow its end. */
static bool is_in_doubt(const struct block *block, uint64_t accesses, const struct block *next)
{
    uint64_t end = block->address + (uint32_t)block->whole;
    if (next != NULL && next->address == end) {
        return false;
    }
    if (block->maybe_short) {
        /* A Thumb program that may not fetch the following instruction. */
        return next == NULL || next->address != block->leads_to;
    }
    /* A fault after the first iteration, which QEMU does not report. */
    return block->repeats && repeats_within && accesses > 0 &&
           (next == NULL || next->address != end - block->last_bytes);
}

/* Returns the number of the block that a processor has executed, or of the part of it that it has
 * executed, or NEVER if it has executed nothing. `counter` is the processor's counter; instructions
 * that do not count are subtracted from it. */
static uint64_t executed_number(unsigned int vcpu, uint64_t *counter, const struct block *next)
{
    uint64_t executed = *counter;
    struct block *block = processors[vcpu].block;
    uint64_t accesses = processors[vcpu].accesses;
    bool repetition = processors[vcpu].repetition;
    processors[vcpu].repetition =
        next != NULL && next->repeats && is_last_of(block, executed, next);
    if (repetition && accesses == 0 && next != NULL &&
        next->address == block->address + (uint32_t)executed) {
        /* QEMU executes the instruction once more to find that nothing is left to repeat. */
        return NEVER;
    }
    if (next != NULL && is_begun_again(block, executed, accesses, next)) {
        executed -= ONE_INSTRUCTION + (uint32_t)next->whole;
        *counter = executed;
        if (executed == 0) {
            return NEVER;
        }
    } else if (block->maybe_short && executed == block->whole && next != NULL &&
               next->address == block->address + (uint32_t)executed - 2) {
        /* The next block begins within the last instruction, which is thus two bytes shorter. */
        block->maybe_short = false;
        block->usual = block->whole;
        block->number = describe_block(block->address, executed - 2);
        return block->number;
    }
    if (executed == block->whole) {
        if (is_in_doubt(block, accesses, next)) {
            stream_put_meta(&stream, "in_doubt", "1");
        }
        return block->number;
    }
    for (const struct piece *piece = block->pieces; piece != NULL; piece = piece->next) {
        if (piece->begun == executed) {
            return piece->number;
        }
    }
    uint32_t number = describe_block(block->address, executed);
    struct piece *piece = malloc(sizeof *piece);
    if (piece != NULL) {
        *piece = (struct piece){ block->pieces, executed, number };
        block->pieces = piece;
    }
    return number;
}

/* Puts the further iterations of a block's last instruction into the stream. From QEMU 10.0 on the
 * instruction is repeated within the block. Its accesses give the number of iterations. */
static void put_repetitions(struct block *block, uint64_t accesses)
{
    for (uint64_t i = accesses / block->accesses; i > 1; i--) {
        if (block->again == 0) {
            uint64_t address = block->address + (uint32_t)block->whole - block->last_bytes;
            block->again = describe_block(address, ONE_INSTRUCTION + block->last_bytes);
        }
        stream_put_word(&stream, block->again);
        blocks_of_first++;
    }
}

/* Returns the counter to which a processor's instructions add. */
static _Atomic uint64_t *counter_of(unsigned int vcpu)
{
    return counters == NULL ? &running[vcpu].begun : qemu_plugin_scoreboard_find(counters, vcpu);
}

void put_thread(unsigned int vcpu, uint64_t blocks_before)
{
    char name[32];
    uint32_t thread = processors[vcpu].thread;
    if (thread == 0 && !system_emulation) {
        snprintf(name, sizeof name, "main");
    } else {
        snprintf(name, sizeof name, "%s-%u", system_emulation ? "processor" : "thread", thread + 1);
    }
    stream_put_thread(&stream, thread, name, blocks_before);
    current_vcpu = vcpu;
}

/* Puts the data reads of the block whose number follows into the stream. */
static void put_reads(unsigned int vcpu, uint64_t executed)
{
    for (size_t i = 0; i < processors[vcpu].read_count; i++) {
        const struct data_read *read = &processors[vcpu].reads[i];
        if (read->begun <= executed) {
            stream_put_read(&stream, read->address, read->bytes, (uint32_t)read->begun);
        }
    }
}

void change_block(unsigned int vcpu, struct block *next)
{
    struct running *now = &running[vcpu];
    struct block *block = processors[vcpu].block;
    _Atomic uint64_t *counter = counter_of(vcpu);
    if (block != NULL) {
        if (vcpu != current_vcpu && !threads_together) {
            stream_put_switch(&stream, processors[vcpu].thread);
            current_vcpu = vcpu;
        }
        uint64_t begun = atomic_load_explicit(counter, memory_order_relaxed);
        uint64_t number = block->number;
        if (begun != block->usual || (next != NULL && next->alone)) {
            number = executed_number(vcpu, &begun, next);
        }
        if (number != NEVER) {
            if (processors[vcpu].read_count > 0) {
                put_reads(vcpu, begun);
            }
            atomic_store_explicit(&now->position, stream_position(&stream), memory_order_release);
            stream_put_word(&stream, (uint32_t)number);
            blocks_of_first++;
        }
        if (block->repeats) {
            put_repetitions(block, processors[vcpu].accesses);
        }
    }
    processors[vcpu].block = next;
    processors[vcpu].accesses = 0;
    processors[vcpu].read_count = 0;
    atomic_store_explicit(counter, 0, memory_order_release);
    if (next != NULL) {
        atomic_store_explicit(&now->address, next->address, memory_order_release);
        atomic_store_explicit(&now->thread,
                              processors[vcpu].thread | (next->in_doubt ? BEGUN_IN_DOUBT : 0),
                              memory_order_release);
        if (counters != NULL) {
            /* QEMU counts in memory that no reader of the slot sees. */
            atomic_store_explicit(&now->begun, next->whole, memory_order_release);
        }
    }
    atomic_store_explicit(&now->position, NEVER, memory_order_release);
}

/* A faster change_block() for a program of one thread. It works only if the ended block was
 * executed whole and nothing else is to be put into the stream; otherwise it does nothing and
 * returns false. */
static inline bool change_whole_block(struct block *next)
{
    struct running *now = &running[0];
    struct block *block = processors[0].block;
    if (block == NULL ||
        atomic_load_explicit(&now->begun, memory_order_relaxed) != block->usual ||
        (next->alone && next->address + (uint32_t)next->whole ==
                            block->address + (uint32_t)block->whole) ||
        processors[0].read_count > 0) {
        return false;
    }
    atomic_store_explicit(&now->position, stream_position(&stream), memory_order_release);
    stream_put_word(&stream, block->number);
    blocks_of_first++;
    processors[0].block = next;
    processors[0].accesses = 0;
    atomic_store_explicit(&now->begun, 0, memory_order_release);
    atomic_store_explicit(&now->address, next->address, memory_order_release);
    atomic_store_explicit(&now->thread,
                          processors[0].thread | (next->in_doubt ? BEGUN_IN_DOUBT : 0),
                          memory_order_release);
    atomic_store_explicit(&now->position, NEVER, memory_order_release);
    return true;
}

void on_block_executed(unsigned int vcpu, void *block)
{
    static bool too_many;
    if (!stream.is_read) {
        return;
    }
    /* A program of one thread needs no lock. The main loop of a machine may end the stream while
     * its processor executes. */
    if (!several_processors && !system_emulation && counters == NULL &&
        change_whole_block(block)) {
        return;
    }
    acquire();
    if (stream.is_read && vcpu < MAX_RUNNING) {
        change_block(vcpu, block);
    } else if (stream.is_read && !too_many) {
        stream_put_meta(&stream, "left_out", "threads: more than 1023 at once");
        too_many = true;
    }
    release();
}

void on_instruction(unsigned int vcpu, void *amount)
{
    if (stream.is_read && vcpu < MAX_RUNNING) {
        atomic_store_explicit(&running[vcpu].begun,
                              atomic_load_explicit(&running[vcpu].begun, memory_order_relaxed) +
                                  (uint64_t)(uintptr_t)amount,
                              memory_order_release);
    }
}

void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *wants_store)
{
    (void)address; /* QEMU 7.2 also reports loads if only stores are requested */
    if (stream.is_read && vcpu < MAX_RUNNING &&
        qemu_plugin_mem_is_store(info) == (wants_store != NULL)) {
        processors[vcpu].accesses++;
    }
}

void on_read(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *begun)
{
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    if (address >= watched_reads_span.end || address + bytes <= watched_reads_span.start ||
        qemu_plugin_mem_is_store(info) || !stream.is_read || vcpu >= MAX_RUNNING) {
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
    size_t place = processors[vcpu].read_count;
    if (place == processors[vcpu].read_capacity) {
        size_t capacity = place ? 2 * place : 64;
        struct data_read *grown = realloc(processors[vcpu].reads, capacity * sizeof *grown);
        if (grown == NULL) {
            out_of_memory();
        }
        processors[vcpu].reads = grown;
        processors[vcpu].read_capacity = capacity;
    }
    processors[vcpu].reads[place] =
        (struct data_read){ address, (uint64_t)(uintptr_t)begun, (uint32_t)bytes };
    processors[vcpu].read_count = place + 1;
}
