/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

void unblock_trap(struct thread *thread)
{
    uint64_t mask = 0;
    if (ptrace(PTRACE_GETSIGMASK, thread->id, (void *)sizeof mask, &mask) == 0) {
        thread->blocks_trap = (mask & TRAP_BIT) != 0;
        mask &= ~TRAP_BIT;
        if (thread->blocks_trap) {
            ptrace(PTRACE_SETSIGMASK, thread->id, (void *)sizeof mask, &mask);
        }
    }
}

void block_trap(struct thread *thread)
{
    uint64_t mask = 0;
    if (thread->blocks_trap &&
        ptrace(PTRACE_GETSIGMASK, thread->id, (void *)sizeof mask, &mask) == 0) {
        mask |= TRAP_BIT;
        ptrace(PTRACE_SETSIGMASK, thread->id, (void *)sizeof mask, &mask);
        if (thread->holds_trap) {
            syscall(SYS_tgkill, current->id, thread->id, SIGTRAP);
        }
    }
    thread->blocks_trap = false;
}

void restore_ignored_trap(struct thread *thread)
{
    uint64_t old = system_call_argument(&thread->before, 2);
    if (thread->call_number != SYS_rt_sigaction ||
        system_call_argument(&thread->before, 0) != SIGTRAP) {
        return;
    }
    registers after;
    if (!read_registers(thread->id, &after) || system_call_result(&after) != 0) {
        return;
    }
    if (current->ignores_trap && old != 0) {
        uint64_t handler = (uint64_t)(uintptr_t)SIG_IGN;
        (void)!pwrite(current->memory, &handler, sizeof handler, (off_t)old);
    }
    if (system_call_argument(&thread->before, 1) != 0) {
        current->ignores_trap = (signal_set(thread->id, "SigIgn") & TRAP_BIT) != 0;
    }
}

int on_trap(struct thread *thread, const siginfo_t *info, const registers *after)
{
    bool moved = program_counter(after) != program_counter(&thread->before);
    bool is_own = thread->now.kind == TRAPS;
    switch (info->si_code) {
    case SIGTRAP: /* at the first instruction of a handler */
        thread->restarts = false;
        unblock_trap(thread);
        hide_step_in_frame(after, current->memory);
        return 0;
    case TRAP_TRACE: {
        bool is_for_program = steps_itself(&thread->before) || is_own;
        count_completed(thread, after);
        return is_for_program ? SIGTRAP : 0;
    }
    case TRAP_BRKPT:
        if (is_own) {
            count_fetch(thread, &thread->now);
            return SIGTRAP;
        }
        /* After a system call that was stepped, or at the beginning of a thread. */
        if (moved && thread->now.kind == SYSTEM_CALL) {
            count_completed(thread, after);
            current->age++;
            current->regions_are_stale = true;
        }
        return 0;
    case SI_KERNEL:
        if (is_own) {
            count_fetch(thread, &thread->now);
            return SIGTRAP;
        }
        break;
    default:
        break;
    }
    /* Another process, or the program itself, has sent the signal. */
    if (moved && thread->is_stepping && !thread->restarts) {
        count_completed(thread, after);
    }
    if (thread->blocks_trap) {
        if (!thread->holds_trap) {
            thread->held = *info;
        }
        thread->holds_trap = true;
        return 0;
    }
    if (thread->holds_trap) {
        thread->holds_trap = false;
        ptrace(PTRACE_SETSIGINFO, thread->id, NULL, &thread->held);
    }
    return current->ignores_trap ? 0 : SIGTRAP;
}
