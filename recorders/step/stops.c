/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The signal of a stop at a system call (PTRACE_O_TRACESYSGOOD). */
#define CALL_STOP (SIGTRAP | 0x80)

/* The kernel's internal results of a system call that it may restart. */
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

struct thread_stop {
    pid_t id;
    int status;
};

/* Stops in the order of their arrival. The first `stops_taken` have been handled. */
static struct thread_stop *stops;
static size_t stop_count, stops_taken;

/* First stops of processes whose parents have not reported them yet. */
static struct thread_stop *orphans;
static size_t orphan_count;

/* Returns true if the program has a handler for a signal. */
static bool is_caught(pid_t id, int number)
{
    return signal_set(id, "SigCgt") >> (number - 1) & 1;
}

/* Resumes a thread, with a signal or 0. */
static void resume(struct thread *thread, int number)
{
    if (!output_is_read()) {
        block_trap(thread);
        ptrace(PTRACE_DETACH, thread->id, NULL, (void *)(intptr_t)number);
        return;
    }
    bool calls = thread->is_in_call || thread->restarts || thread->now.kind == SYSTEM_CALL;
    bool is_handled = number != 0 && is_caught(thread->id, number);
    if (is_handled || (calls && !thread->is_in_call && !thread->restarts) ||
        thread->now.kind == TRAPS) {
        block_trap(thread);
    }
    if (thread->popped_flags) {
        /* If the thread were stepped again, the kernel would mistake its own trap flag for the
         * program's.
         * It clears its own flag if the thread goes on without stepping, so the thread runs until
         * an interrupt that stops it immediately. */
        thread->popped_flags = false;
        thread->is_stepping = false;
        thread->is_stopped = false;
        ptrace(PTRACE_INTERRUPT, thread->id, NULL, NULL);
        ptrace(PTRACE_SYSCALL, thread->id, NULL, (void *)(intptr_t)number);
        return;
    }
    /* With PTRACE_SINGLESTEP the kernel stops at the first instruction of a handler. */
    bool steps = !calls || is_handled;
    thread->is_stepping = steps;
    thread->is_stopped = false;
    ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, thread->id, NULL, (void *)(intptr_t)number);
}

/* Returns true if a system call may change mappings. */
static bool changes_mappings(uint64_t call)
{
    switch (call) {
    case SYS_mmap: case SYS_munmap: case SYS_mremap: case SYS_mprotect: case SYS_pkey_mprotect:
    case SYS_brk: case SYS_shmat: case SYS_shmdt: case SYS_remap_file_pages: case SYS_execve:
        return true;
    default:
        return false;
    }
}

/* Returns true if a system call that started a process or a thread has started a process. */
static bool starts_process(const struct thread *thread)
{
    uint64_t flags = system_call_argument(&thread->before, 0);
    switch (thread->call_number) {
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
        return true;
#endif
    case SYS_clone3:
        if (pread(current->memory, &flags, sizeof flags, (off_t)flags) != (ssize_t)sizeof flags) {
            return false;
        }
        return (flags & CLONE_THREAD) == 0;
    case SYS_clone:
        return (flags & CLONE_THREAD) == 0;
    default:
        return false;
    }
}

/* Handles a thread's entry into a system call, or its exit from one. */
static void on_system_call(struct thread *thread)
{
    if (!thread->is_in_call) {
        if (!thread->restarts) {
            thread->call = thread->now;
            /* `before` keeps the arguments until the exit. */
            thread->call_number = 0;
            thread->has_child = false;
        }
        registers entry;
        if (read_registers(thread->id, &entry)) {
            thread->call_number = system_call_number(&entry);
            thread->before = entry;
        }
        thread->restarts = false;
        thread->is_in_call = true;
        count_fetch(thread, &thread->call);
        output_flush();
        return;
    }
    thread->is_in_call = false;
    current->age++;
    current->regions_are_stale |= changes_mappings(thread->call_number);
    restore_ignored_trap(thread);
    registers after;
    if (!read_registers(thread->id, &after)) {
        return;
    }
    int64_t result = system_call_result(&after);
    if (result > 0 && !thread->has_child && starts_process(thread)) {
        put_meta("children", "1");
    }
    bool is_return = thread->call_number == SYS_rt_sigreturn;
    thread->restarts = !is_return && result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
    if (thread->restarts) {
        return;
    }
    if (is_return || result != -EINTR) { /* otherwise the mask may be valid for the call alone */
        unblock_trap(thread);
    }
    decode_next(thread);
}

/* Returns true if a fault means that the instruction itself could not be fetched. */
static bool is_fetch(const struct instruction *it, int number, const siginfo_t *info)
{
    uint64_t at = (uint64_t)(uintptr_t)info->si_addr;
    if ((number != SIGSEGV && number != SIGBUS) || info->si_code == SI_KERNEL ||
        at < it->address || at - it->address >= it->bytes) {
        return false;
    }
    const struct region *region = region_at(at);
    return region == NULL || !region->is_executable;
}

/* Handles a signal before its delivery. Returns the signal, or 0 if the program must not get it. */
static int on_signal(struct thread *thread, int number)
{
    siginfo_t info;
    registers after;
    if (ptrace(PTRACE_GETSIGINFO, thread->id, NULL, &info) != 0 ||
        !read_registers(thread->id, &after)) {
        return number; /* killed meanwhile */
    }
    if (number == SIGTRAP) {
        number = on_trap(thread, &info, &after);
    } else if (thread->is_stepping && !thread->restarts) {
        bool is_fault = (number == SIGSEGV || number == SIGBUS || number == SIGILL ||
                         number == SIGFPE) && info.si_code > 0;
        if (is_fault && !is_fetch(&thread->now, number, &info)) {
            count_fetch(thread, &thread->now);
            end_block(thread);
        }
    }
    if (!thread->restarts) {
        decode_next(thread);
    }
    return number;
}

/* Ends the stepper when the process executes another program, which is not recorded. */
_Noreturn static void end_by_exec(pid_t id)
{
    while (thread_count > 0) {
        drop_thread(threads[0]);
    }
    output_flush();
    ptrace(PTRACE_DETACH, id, NULL, NULL);
    _exit(0);
}

/* Detaches the current process, which cannot be recorded and runs on. */
static void detach_process(const char *reason)
{
    char text[PATH_BYTES + 256], path[64], program[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)current->id);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(text, sizeof text, "process %u, %s, and what it starts: %s",
             (unsigned)current->number, program, reason);
    ptrace(PTRACE_DETACH, current->id, NULL, NULL);
    drop_process();
    output_select_first();
    put_meta("left_out", text);
}

/* Returns true if a process executes a program that can be stepped. */
static bool is_of_this_machine(pid_t id)
{
    unsigned char head[20] = { 0 };
    uint16_t machine;
    read_proc_file(id, "exe", (char *)head, sizeof head);
    memcpy(&machine, head + 18, sizeof machine);
#ifdef __aarch64__
    return head[EI_CLASS] == ELFCLASS64 && machine == EM_AARCH64;
#else
    return head[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64;
#endif
}

/* Begins to record the current process's program. Returns false if it cannot be recorded. */
static bool begin(pid_t id)
{
    bool is_first = !has_begun;
    has_begun = true;
    if (is_first && !open_memory()) {
        kill(id, SIGKILL);
        refuse("the program's memory cannot be read: is its file readable?");
    }
    if (!is_first && !is_of_this_machine(id)) {
        detach_process("it is not a 64-bit program of this processor, or cannot be read");
        return false;
    }
    if (!is_first && !open_memory()) {
        detach_process("its memory cannot be read");
        return false;
    }
    if (!is_first) {
        announce_process();
    }
    struct thread *thread = add_thread(id);
    thread->is_in_call = true;
    thread->call_number = SYS_execve;
    current->ignores_trap |= (signal_set(id, "SigIgn") & TRAP_BIT) != 0;
    return true;
}

/* Begins to record the next program that the current process executes. Returns false if it cannot
 * be recorded. */
static bool begin_next(pid_t id)
{
    uint32_t number = current->number;
    bool ignores_trap = current->ignores_trap;
    put_meta("ending", "");
    drop_process();
    add_process(id, number);
    current->ignores_trap = ignores_trap;
    return begin(id);
}

/* Ends the record of the current process, which has ended with this status. */
static void end_process(int status)
{
    char ending[64] = "";
    if (WIFSIGNALED(status)) {
        const char *name = NULL;
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 32)
        name = sigabbrev_np(WTERMSIG(status));
#endif
        if (name != NULL) {
            snprintf(ending, sizeof ending, "signal SIG%s", name);
        } else {
            snprintf(ending, sizeof ending, "signal %d", WTERMSIG(status));
        }
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(ending, sizeof ending, "exit status %d", WEXITSTATUS(status));
    }
    if (!current->is_first) {
        put_meta("ending", ending);
    }
    drop_process();
}

static void on_stop(pid_t id, int status);

/* Adds a process that a thread of the current process has started. The thread may have ended
 * before it reported that. */
static void on_child(struct thread *parent, pid_t id)
{
    bool ignores_trap = current->ignores_trap;
    parent->has_child = true;
    add_process(id, ++processes_seen);
    current->ignores_trap = ignores_trap;
    open_memory(); /* on failure, the process is detached at its first stop */
    announce_process();
    add_thread(id)->is_new = true;
    for (size_t i = 0; i < orphan_count; i++) {
        if (orphans[i].id == id) {
            int status = orphans[i].status;
            orphans[i] = orphans[--orphan_count];
            on_stop(id, status);
            break;
        }
    }
}

/* Waits for a stop and appends it to `stops`. Returns false if there is none. */
static bool wait_for_stop(int options)
{
    struct thread_stop stop;
    do {
        stop.id = waitpid(-1, &stop.status, __WALL | options);
    } while (stop.id < 0 && errno == EINTR);
    if (stop.id <= 0) {
        return false;
    }
    stops = grow(stops, stop_count, sizeof *stops);
    stops[stop_count++] = stop;
    struct thread *thread = find_thread(stop.id);
    if (thread != NULL) {
        thread->is_stopped = true;
    }
    return true;
}

/* Returns true if some thread runs until its next instruction has been executed. */
static bool any_thread_steps(void)
{
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i]->is_stepping && !threads[i]->is_stopped) {
            return true;
        }
    }
    return false;
}

/* Executes exclusive stores while no other thread executes anything. */
static void store_exclusively(struct thread *thread)
{
    while (any_thread_steps() && wait_for_stop(0)) {
    }
    while (thread->now.kind == STORES_EXCLUSIVE &&
           store_exclusive(thread->id, &thread->now, &thread->before, &thread->monitor)) {
        thread->monitor.bytes = 0;
        count_fetch(thread, &thread->now);
        decode_next(thread);
    }
}

/* Handles stops at the beginning of a program, and of the process that will execute the first
 * one. Returns false if the stop needs no further handling. */
static bool on_begin(pid_t id, int number, int event)
{
    if (event == PTRACE_EVENT_EXEC && !has_begun) {
        begin(id);
    } else if (event == PTRACE_EVENT_EXEC) {
        if (!follows_children) {
            end_by_exec(id);
        }
        select_process(find_process(id));
        return begin_next(id);
    } else if (!has_begun) {
        /* The process has not executed the program yet. */
        ptrace(event == PTRACE_EVENT_STOP && number != SIGTRAP ? PTRACE_LISTEN : PTRACE_CONT, id,
               NULL, (void *)(intptr_t)(event == 0 ? number : 0));
        return false;
    }
    return true;
}

/* Returns the thread that has stopped, which may be new. Returns NULL if its process is unknown,
 * because its parent has not reported it yet or because it is not followed. */
static struct thread *stopped_thread(pid_t id, int status)
{
    struct thread *thread = find_thread(id);
    if (thread != NULL) {
        return thread;
    }
    pid_t process_id = process_of(id);
    struct process *known = find_process(process_id);
    if (known == NULL && follows_children && process_id == id) {
        orphans = grow(orphans, orphan_count, sizeof *orphans);
        orphans[orphan_count++] = (struct thread_stop){ id, status };
        return NULL;
    }
    if (known == NULL) {
        ptrace(PTRACE_DETACH, id, NULL, NULL);
        return NULL;
    }
    select_process(known);
    thread = add_thread(id);
    thread->is_new = true;
    return thread;
}

/* Handles the stop of a thread that is about to end. */
static void on_exit_stop(struct thread *thread)
{
    registers after;
    if (thread->is_stepping && read_registers(thread->id, &after) &&
        program_counter(&after) != program_counter(&thread->before)) {
        count_completed(thread, &after);
    }
    end_block(thread);
    ptrace(PTRACE_CONT, thread->id, NULL, NULL);
}

/* Handles an interrupted thread. Returns false if it stays stopped until SIGCONT. */
static bool on_interrupt(struct thread *thread, int number)
{
    if (number != SIGTRAP) { /* stopped by job control */
        thread->is_stepping = false;
        ptrace(PTRACE_LISTEN, thread->id, NULL, NULL);
        return false;
    }
    if (!thread->is_in_call && !thread->restarts) {
        if (!thread->blocks_trap) {
            unblock_trap(thread); /* a handler may be about to run */
        }
        decode_next(thread);
    }
    return true;
}

/* Handles the stop of a thread that has started another thread or a process. */
static void on_start(struct thread *thread)
{
    unsigned long child = 0;
    thread->is_in_call = true;
    ptrace(PTRACE_GETEVENTMSG, thread->id, NULL, &child);
    if (follows_children && child != 0 && starts_process(thread)) {
        on_child(thread, (pid_t)child);
        select_process(thread->process);
    }
}

/* Handles a stop of a thread, and resumes the thread. */
static void on_stop(pid_t id, int status)
{
    int number = WSTOPSIG(status), event = status >> 16, deliver = 0;
    if (!on_begin(id, number, event)) {
        return;
    }
    struct thread *thread = stopped_thread(id, status);
    if (thread == NULL) {
        return;
    }
    select_process(thread->process);
    if (current->memory < 0) {
        detach_process("its memory cannot be read");
        return;
    }
    if (thread->is_new) {
        thread->is_new = false;
        unblock_trap(thread);
        decode_next(thread);
    }
    if (event == PTRACE_EVENT_STOP) {
        if (!on_interrupt(thread, number)) {
            return;
        }
    } else if (event == PTRACE_EVENT_EXIT) {
        on_exit_stop(thread);
        return;
    } else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
               event == PTRACE_EVENT_VFORK) {
        on_start(thread);
    } else if (number == CALL_STOP) {
        on_system_call(thread);
    } else if (event == 0) {
        deliver = on_signal(thread, number);
    }
    if (deliver == 0 && thread->now.kind == STORES_EXCLUSIVE) {
        store_exclusively(thread);
    }
    resume(thread, deliver);
}

void trace_until_end(void)
{
    for (;;) {
        if (stops_taken == stop_count) {
            stops_taken = stop_count = 0;
            if (!wait_for_stop(0)) {
                return; /* no process is left */
            }
            /* All waiting stops are collected before a thread is resumed: each gets its turn. */
            while (thread_count > 1 && wait_for_stop(WNOHANG)) {
            }
        }
        struct thread_stop stop = stops[stops_taken++];
        struct thread *thread = find_thread(stop.id);
        if (WIFSTOPPED(stop.status)) {
            on_stop(stop.id, stop.status);
            continue;
        }
        if (thread == NULL) {
            continue;
        }
        select_process(thread->process);
        while (orphan_count > 0 && thread->is_in_call && starts_process(thread)) {
            on_child(thread, orphans[0].id); /* killed before it reported the child */
            select_process(thread->process);
        }
        if (stop.id == current->id) {
            end_process(stop.status);
        } else {
            drop_thread(thread);
        }
    }
}
