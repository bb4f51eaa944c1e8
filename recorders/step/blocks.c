/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <unistd.h>

/* Instructions after which a block ends, wherever it is. */
#define BLOCK_INSTRUCTIONS 512

/* The x86-64 page of calls that the kernel executes in the program's place. */
#define VSYSCALL UINT64_C(0xffffffffff600000)

/* Names this thread in the stream as the one that executes the blocks that follow. */
static void announce_thread(struct thread *thread)
{
    char name[48];
    if (threads_together || thread->number == current->current_thread) {
        return;
    }
    if (!current->names_threads) {
        /* All blocks so far belong to one thread. */
        put_thread(current->current_thread, "main", output_blocks());
        current->names_threads = true;
    }
    current->current_thread = thread->number;
    if (thread->is_named || current->current_thread == 0) {
        put_switch(current->current_thread);
    } else {
        snprintf(name, sizeof name, "thread-%u", (unsigned)current->current_thread + 1);
        put_thread(current->current_thread, name, 0);
    }
    thread->is_named = true;
}

void end_block(struct thread *thread)
{
    if (thread->instructions > 0) {
        announce_thread(thread);
        put_block(thread->start, (uint32_t)(thread->next - thread->start), thread->instructions);
        thread->instructions = 0;
    }
}

void count_fetch(struct thread *thread, const struct instruction *it)
{
    if (it->bytes == 0) {
        return;
    }
    if (thread->instructions == BLOCK_INSTRUCTIONS || it->address != thread->next) {
        end_block(thread);
    }
    if (thread->instructions == 0) {
        thread->start = it->address;
    }
    thread->next = it->address + it->bytes;
    thread->instructions++;
    if (it->kind != ORDINARY) {
        end_block(thread);
    }
}

void count_completed(struct thread *thread, const registers *after)
{
    struct instruction *it = &thread->now;
    uint64_t reached = program_counter(after);
    if (it->kind == SHADOWS) {
        uint64_t next = it->bytes > 0 ? it->address + it->bytes : thread->returns_to;
        if (it->bytes == 0) {
            end_block(thread);
            announce_thread(thread);
            put_unseen(it->address);
        } else if (reached != next) {
            count_fetch(thread, it);
        }
        if (reached != next) {
            *it = instruction_at(next);
        }
    }
    if (it->kind == ORDINARY && reached > it->address &&
        reached - it->address <= MAX_INSTRUCTION_BYTES) {
        it->bytes = (uint32_t)(reached - it->address); /* as the processor decodes it */
    }
    for (uint64_t i = fetches(it, &thread->before, after); i > 0; i--) {
        count_fetch(thread, it);
    }
    if (it->kind == PUSHES_FLAGS && !steps_itself(&thread->before)) {
        hide_step_in_flags(after, current->memory);
    } else if (it->kind == POPS_FLAGS) {
        thread->popped_flags = true;
    } else if (it->kind == LOADS_EXCLUSIVE) {
        thread->monitor = monitor_of_load(thread->id, it, &thread->before, after);
    }
}

void decode_next(struct thread *thread)
{
    if (!read_registers(thread->id, &thread->before)) {
        return; /* killed meanwhile */
    }
#ifdef __x86_64__
    if (thread->before.cs != 0x33) {
        kill(current->id, SIGKILL);
        refuse("the program executes 32-bit code, which the stepper does not know; "
               "QEMU does (Debian: apt install qemu-user)");
    }
#endif
    thread->now = instruction_at(program_counter(&thread->before));
#ifdef __x86_64__
    if ((thread->now.address & ~(PAGE - 1)) == VSYSCALL &&
        pread(current->memory, &thread->returns_to, sizeof thread->returns_to,
              (off_t)thread->before.rsp) == (ssize_t)sizeof thread->returns_to) {
        /* The kernel executes the call and returns; the step ends after the next instruction. */
        thread->now.bytes = 0;
        thread->now.kind = SHADOWS;
    }
#endif
}
