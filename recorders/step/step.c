/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * flashpager's own recorder: runs a program one instruction at a time.
 *
 *   flashpager-step PIPE TAIL WHOM FILE NAME [ARGUMENTS]...
 *
 *   PIPE   write end of the pipe to which the recorder stream goes
 *   TAIL   the shared-memory file in which it is collected
 *          (docs/formats.md, "Recorder stream")
 *   WHOM   "one" for all threads together, "each" to tell them apart, "children" to
 *          tell the processes apart that the program starts, too
 *   FILE, NAME  the program, and what it finds in argv[0]
 *
 * The process that is started becomes the program, so that its parent, its
 * exit code, its signals and its terminal are its own. A grandchild of it
 * traces it, in a session of its own. Threads of the program are stepped,
 * too; processes that it forks are if that is asked for, and else run free.
 *
 * What counts: an instruction that was fetched and begun, once for each time,
 * whether it completed or ended in a signal. One whose own bytes could not be
 * fetched does not. A `rep` counts once for each iteration, or once if there is
 * none.
 *
 * A thread's instructions are collected into blocks, up to a branch or system
 * call; blocks are told in the order in which their last instruction
 * completed.
 *
 * What a program could see of being stepped, and does not:
 *   the trap flag, in flags that it pushes and in signal frames;
 *   a SIGTRAP that it blocks or ignores: the kernel would undo either when a
 *   step ends, so it is not told of them meanwhile.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "stream.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define PATH_BYTES 4096
#define VSYSCALL UINT64_C(0xffffffffff600000) /* a page of the kernel's */
#define BLOCK_INSTRUCTIONS 512
#define MAX_ARGUMENT_BYTES 16384
#define CALL_STOP (SIGTRAP | 0x80)
#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))
/* The kernel's own results for a call that it may do again. */
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

struct thread {
    pid_t id;
    struct process *process;
    uint32_t number;
    bool is_named;      /* the stream knows it */
    bool is_stopped;
    bool is_stepping;   /* goes on, or went, until the next instruction has been executed */
    bool is_in_call;    /* between a system call's entry and its exit */
    bool restarts;      /* the system call is done again unless a handler runs */
    bool blocks_trap;   /* the program blocks SIGTRAP, and the kernel does not know */
    bool has_child;     /* its call has started a process that is followed */
    bool is_new;        /* of a process that has not executed anything yet */
    bool popped_flags;  /* by which the kernel has lost count of whose trap flag it is */
    bool holds_trap;    /* a SIGTRAP from outside waits until it is not blocked */
    siginfo_t held;
    registers before;
    struct instruction now, call;
    uint64_t returns_to; /* from what the kernel does in the place of code */
    uint64_t call_number;
    struct monitor monitor;
    /* The block at hand. */
    uint64_t start, next;
    uint32_t instructions;
};

static struct thread **threads; /* of all processes */
static size_t thread_count;
static bool one_stream;
static bool follows_children;
static bool has_begun;

/* Executable regions of a program's memory. */
struct region {
    uint64_t start, end, offset;
    bool is_executable;
    bool is_constant; /* only system calls change what is in it */
};

struct reported_map {
    uint64_t start, end, offset;
    char *path;
};

/* A process, as long as it executes one program. */
struct process {
    pid_t id;
    bool is_first;   /* what was asked for: who started it is told how it ends */
    uint32_t number; /* in the order in which they began; kept when it becomes another program */
    struct stream_process *stream;
    uint32_t threads_seen;
    uint32_t current_thread; /* whose blocks the stream tells */
    bool names_threads;
    bool ignores_trap;
    int memory;
    struct region *regions;
    size_t region_count;
    bool regions_are_stale;
    struct reported_map *reported_maps;
    size_t reported_map_count;
    /* Pages of code that cannot have changed since the last system call. */
    uint64_t age;
    struct page {
        uint64_t address;
        uint64_t age;
        unsigned char bytes[4096];
    } pages[256];
};
static struct process **processes;
static size_t process_count;
static uint32_t processes_seen;
/* The one at hand. */
static struct process *process;

_Noreturn static void refuse(const char *why)
{
    put_meta("refused", why);
    stream_flush();
    _exit(2);
}

static void *grow(void *items, size_t count, size_t size)
{
    /* Powers of two only. */
    if ((count & (count - 1)) != 0) {
        return items;
    }
    void *more = realloc(items, (count ? 2 * count : 1) * size);
    if (more == NULL) {
        refuse("the stepper is out of memory");
    }
    return more;
}

/* ------------------------------------------------------------------ memory */

static void report_map(const struct region *region, const char *path)
{
    for (size_t i = 0; i < process->reported_map_count; i++) {
        const struct reported_map *map = &process->reported_maps[i];
        if (map->start == region->start && map->end == region->end &&
            map->offset == region->offset && strcmp(map->path, path) == 0) {
            return;
        }
    }
    process->reported_maps =
        grow(process->reported_maps, process->reported_map_count, sizeof *process->reported_maps);
    char *copy = strdup(path);
    if (copy == NULL) {
        refuse("the stepper is out of memory");
    }
    process->reported_maps[process->reported_map_count++] =
        (struct reported_map){ region->start, region->end, region->offset, copy };
    put_map(region->start, region->end, region->offset, path);
}

static void read_regions(void)
{
    char line[PATH_BYTES + 128];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)process->id);
    FILE *maps = fopen(line, "re");
    process->region_count = 0;
    if (maps == NULL) {
        return;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long start, end, offset, inode;
        char access[5];
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &start, &end, access, &offset, &inode,
                   &path_at) < 5) {
            continue;
        }
        struct region region = { start, end, offset, access[2] == 'x',
                                 access[1] != 'w' && access[3] == 'p' };
        process->regions = grow(process->regions, process->region_count, sizeof *process->regions);
        process->regions[process->region_count++] = region;
        if (region.is_executable && inode != 0 && path_at != 0) {
            report_map(&region, line + path_at);
        }
    }
    fclose(maps);
    process->regions_are_stale = false;
}

static const struct region *find_region(uint64_t address)
{
    for (size_t i = 0; i < process->region_count; i++) {
        if (address >= process->regions[i].start && address < process->regions[i].end) {
            return &process->regions[i];
        }
    }
    return NULL;
}

static const struct region *region_of(uint64_t address)
{
    if (process->regions_are_stale) {
        read_regions();
    }
    const struct region *region = find_region(address);
    if (region == NULL) {
        read_regions(); /* mapped by a process that shares the memory */
        region = find_region(address);
    }
    return region;
}

/* Read up to `bytes` from one page of code. */
static size_t read_page(uint64_t address, unsigned char *into, size_t bytes)
{
    uint64_t start = address & ~(PAGE - 1);
    size_t place = start / PAGE % (sizeof process->pages / sizeof *process->pages);
    struct page *page = &process->pages[place];
    if (page->address != start || page->age != process->age || process->regions_are_stale) {
        const struct region *region = region_of(address);
        if (region == NULL) {
            return 0;
        }
        if (!region->is_constant) {
            ssize_t got = pread(process->memory, into, bytes, (off_t)address);
            return got > 0 ? (size_t)got : 0;
        }
        page->age = 0;
        if (pread(process->memory, page->bytes, PAGE, (off_t)start) != (ssize_t)PAGE) {
            return 0;
        }
        page->address = start;
        page->age = process->age;
    }
    memcpy(into, page->bytes + address % PAGE, bytes);
    return bytes;
}

static struct instruction instruction_at(uint64_t address)
{
    struct instruction it = { .address = address };
    size_t here = PAGE - address % PAGE, all = sizeof it.code;
    size_t got = read_page(address, it.code, here < all ? here : all);
    if (got == here && here < all) {
        /* The rest is wanted only if the instruction reaches there. */
        decode(&it, got);
        if (it.bytes == 0) {
            got += read_page(address + here, it.code + here, all - here);
        }
    }
    decode(&it, got);
    return it;
}

/* ------------------------------------------------------------------ blocks */

/* What is told from here on is executed by this thread. */
static void announce_thread(struct thread *thread)
{
    char name[48];
    if (one_stream || thread->number == process->current_thread) {
        return;
    }
    if (!process->names_threads) {
        /* Until now there was one. */
        put_thread(process->current_thread, "main", stream_blocks());
        process->names_threads = true;
    }
    process->current_thread = thread->number;
    if (thread->is_named || process->current_thread == 0) {
        put_switch(process->current_thread);
    } else {
        snprintf(name, sizeof name, "thread-%u", (unsigned)process->current_thread + 1);
        put_thread(process->current_thread, name, 0);
    }
    thread->is_named = true;
}

static void end_block(struct thread *thread)
{
    if (thread->instructions > 0) {
        announce_thread(thread);
        put_block(thread->start, (uint32_t)(thread->next - thread->start), thread->instructions);
        thread->instructions = 0;
    }
}

static void count_fetch(struct thread *thread, const struct instruction *it)
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

/* The instruction at hand has been executed. */
static void count_completed(struct thread *thread, const registers *after)
{
    struct instruction *it = &thread->now;
    uint64_t behind = program_counter(after);
    if (it->kind == SHADOWS) {
        uint64_t next = it->bytes > 0 ? it->address + it->bytes : thread->returns_to;
        if (it->bytes == 0) {
            end_block(thread);
            announce_thread(thread);
            put_unseen(it->address);
        } else if (behind != next) {
            count_fetch(thread, it);
        }
        if (behind != next) {
            *it = instruction_at(next);
        }
    }
    if (it->kind == ORDINARY && behind > it->address &&
        behind - it->address <= MAX_INSTRUCTION_BYTES) {
        it->bytes = (uint32_t)(behind - it->address); /* the processor knows best */
    }
    for (uint64_t i = fetches(it, &thread->before, after); i > 0; i--) {
        count_fetch(thread, it);
    }
    if (it->kind == PUSHES_FLAGS && !steps_itself(&thread->before)) {
        hide_step_in_flags(after, process->memory);
    } else if (it->kind == POPS_FLAGS) {
        thread->popped_flags = true;
    } else if (it->kind == LOADS_EXCLUSIVE) {
        thread->monitor = monitor_of_load(thread->id, it, &thread->before, after);
    }
}

/* --------------------------------------------------- processes and threads */

/* What follows is about this process. */
static void select_process(struct process *one)
{
    process = one;
    stream_select(one->stream);
}

static struct process *find_process(pid_t id)
{
    for (size_t i = 0; i < process_count; i++) {
        if (processes[i]->id == id) {
            return processes[i];
        }
    }
    return NULL;
}

/* Turn to another process, or to what one has become. */
static void add_process(pid_t id, uint32_t number)
{
    struct process *one = calloc(1, sizeof *one);
    if (one == NULL || (one->stream = stream_process()) == NULL) {
        refuse("the stepper is out of memory");
    }
    one->id = id;
    one->number = number;
    one->memory = -1;
    one->age = 1;
    one->regions_are_stale = true;
    processes = grow(processes, process_count, sizeof *processes);
    processes[process_count++] = one;
    select_process(one);
}

/* Open the memory of the process at hand; false if that is forbidden. */
static bool open_memory(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)process->id);
    process->memory = open(path, O_RDWR | O_CLOEXEC);
    return process->memory >= 0;
}

/* Read a small file of a process in /proc. */
static size_t read_proc_file(pid_t id, const char *name, char *into, size_t bytes)
{
    char path[64];
    size_t got = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)id, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && got < bytes) {
        ssize_t more = read(file, into + got, bytes - got);
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    if (file >= 0) {
        close(file);
    }
    return got;
}

/* Name the process at hand, with its program and arguments. */
static void announce_process(void)
{
    static char text[MAX_DESCRIPTION_BYTES];
    char name[32], path[64];
    size_t length = read_proc_file(process->id, "comm", name, sizeof name);
    while (length > 0 && (length == sizeof name || name[length - 1] == '\n')) {
        length--;
    }
    int head = snprintf(text, 64, "process-%u-%.*s", (unsigned)process->number, (int)length, name);
    size_t used = (size_t)head + 1;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->id);
    ssize_t got = readlink(path, text + used, PATH_BYTES);
    used += got > 0 ? (size_t)got : 0;
    text[used++] = '\0';
    size_t arguments = read_proc_file(process->id, "cmdline", text + used, MAX_ARGUMENT_BYTES);
    bool are_cut = arguments == MAX_ARGUMENT_BYTES;
    put_process(text, used + arguments);
    if (are_cut) {
        put_meta("left_out", "arguments behind the first 16 KB");
    }
}

static struct thread *find_thread(pid_t id)
{
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i]->id == id) {
            return threads[i];
        }
    }
    return NULL;
}

static struct thread *add_thread(pid_t id)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        refuse("the stepper is out of memory");
    }
    thread->id = id;
    thread->process = process;
    thread->number = process->threads_seen++;
    threads = grow(threads, thread_count, sizeof *threads);
    threads[thread_count++] = thread;
    return thread;
}

static void drop_thread(struct thread *thread)
{
    end_block(thread);
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i] == thread) {
            threads[i] = threads[--thread_count];
            break;
        }
    }
    free(thread);
}

/* Forget the process at hand. */
static void drop_process(void)
{
    for (size_t i = 0; i < thread_count;) {
        if (threads[i]->process == process) {
            drop_thread(threads[i]); /* puts another one in its place */
        } else {
            i++;
        }
    }
    for (size_t i = 0; i < process_count; i++) {
        if (processes[i] == process) {
            processes[i] = processes[--process_count];
            break;
        }
    }
    for (size_t i = 0; i < process->reported_map_count; i++) {
        free(process->reported_maps[i].path);
    }
    if (process->memory >= 0) {
        close(process->memory);
    }
    stream_forget(process->stream);
    free(process->reported_maps);
    free(process->regions);
    free(process);
    process = NULL;
}

/* A line of hexadecimal signals in /proc/ID/status. */
static uint64_t signals(pid_t id, const char *name)
{
    char line[256];
    unsigned long long set = 0;
    snprintf(line, sizeof line, "/proc/%d/status", (int)id);
    FILE *status = fopen(line, "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            sscanf(line + strlen(name), ": %llx", &set);
            break;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return set;
}

static bool is_caught(pid_t id, int number)
{
    return signals(id, "SigCgt") >> (number - 1) & 1;
}

/* Take SIGTRAP out of the signals that a thread blocks: a step would unblock it, and drop its
 * handler. */
static void unblock_trap(struct thread *thread)
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

/* Block it again for the kernel, which is going to look. */
static void block_trap(struct thread *thread)
{
    uint64_t mask = 0;
    if (thread->blocks_trap &&
        ptrace(PTRACE_GETSIGMASK, thread->id, (void *)sizeof mask, &mask) == 0) {
        mask |= TRAP_BIT;
        ptrace(PTRACE_SETSIGMASK, thread->id, (void *)sizeof mask, &mask);
        if (thread->holds_trap) {
            syscall(SYS_tgkill, process->id, thread->id, SIGTRAP);
        }
    }
    thread->blocks_trap = false;
}

/* Look at what a stopped thread is going to execute. */
static void decode_next(struct thread *thread)
{
    if (!read_registers(thread->id, &thread->before)) {
        return; /* killed meanwhile */
    }
#ifdef __x86_64__
    if (thread->before.cs != 0x33) {
        kill(process->id, SIGKILL);
        refuse("the program executes 32-bit code, which the stepper does not know; "
               "QEMU does (Debian: apt install qemu-user)");
    }
#endif
    thread->now = instruction_at(program_counter(&thread->before));
#ifdef __x86_64__
    if ((thread->now.address & ~(PAGE - 1)) == VSYSCALL &&
        pread(process->memory, &thread->returns_to, sizeof thread->returns_to,
              (off_t)thread->before.rsp) == (ssize_t)sizeof thread->returns_to) {
        /* The kernel does the call and returns; the step ends behind the next instruction. */
        thread->now.bytes = 0;
        thread->now.kind = SHADOWS;
    }
#endif
}

/* Let a thread go on, with a signal or none. */
static void resume(struct thread *thread, int number)
{
    if (!stream_is_read()) {
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
        /* Stepped on from here it would take its own trap flag for the program's. Going on without
         * stepping, and stopping at once, it clears what is its own. */
        thread->popped_flags = false;
        thread->is_stepping = false;
        thread->is_stopped = false;
        ptrace(PTRACE_INTERRUPT, thread->id, NULL, NULL);
        ptrace(PTRACE_SYSCALL, thread->id, NULL, (void *)(intptr_t)number);
        return;
    }
    /* Where a handler runs the kernel stops at its first instruction if it is to step. */
    bool steps = !calls || is_handled;
    thread->is_stepping = steps;
    thread->is_stopped = false;
    ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, thread->id, NULL, (void *)(intptr_t)number);
}

/* ------------------------------------------------------------------- stops */

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

/* What the kernel does to an ignored SIGTRAP when a step ends must not be seen. */
static void restore_ignored_trap(struct thread *thread)
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
    if (process->ignores_trap && old != 0) {
        uint64_t handler = (uint64_t)(uintptr_t)SIG_IGN;
        (void)!pwrite(process->memory, &handler, sizeof handler, (off_t)old);
    }
    if (system_call_argument(&thread->before, 1) != 0) {
        process->ignores_trap = (signals(thread->id, "SigIgn") & TRAP_BIT) != 0;
    }
}

/* Whether a system call that gave a process or thread makes a process. */
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
        if (pread(process->memory, &flags, sizeof flags, (off_t)flags) != (ssize_t)sizeof flags) {
            return false;
        }
        return (flags & CLONE_THREAD) == 0;
    case SYS_clone:
        return (flags & CLONE_THREAD) == 0;
    default:
        return false;
    }
}

static void on_call(struct thread *thread)
{
    if (!thread->is_in_call) {
        if (!thread->restarts) {
            thread->call = thread->now;
            /* Its arguments, until the exit. */
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
        stream_flush();
        return;
    }
    thread->is_in_call = false;
    process->age++;
    process->regions_are_stale |= changes_mappings(thread->call_number);
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
    if (is_return || result != -EINTR) { /* else the mask may be one for the call alone */
        unblock_trap(thread);
    }
    decode_next(thread);
}

/* Whether a fault was that the instruction itself could not be fetched. */
static bool is_fetch(const struct instruction *it, int number, const siginfo_t *info)
{
    uint64_t at = (uint64_t)(uintptr_t)info->si_addr;
    if ((number != SIGSEGV && number != SIGBUS) || info->si_code == SI_KERNEL ||
        at < it->address || at - it->address >= it->bytes) {
        return false;
    }
    const struct region *region = region_of(at);
    return region == NULL || !region->is_executable;
}

/* Take a stop that tells of SIGTRAP; give what of it is for the program. */
static int on_trap(struct thread *thread, const siginfo_t *info, const registers *after)
{
    bool moved = program_counter(after) != program_counter(&thread->before);
    bool is_own = thread->now.kind == TRAPS;
    switch (info->si_code) {
    case SIGTRAP: /* at the first instruction of a handler */
        thread->restarts = false;
        unblock_trap(thread);
        hide_step_in_frame(after, process->memory);
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
        /* Behind a system call that was stepped, or at the beginning of a thread. */
        if (moved && thread->now.kind == SYSTEM_CALL) {
            count_completed(thread, after);
            process->age++;
            process->regions_are_stale = true;
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
    /* Sent by somebody. */
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
    return process->ignores_trap ? 0 : SIGTRAP;
}

/* A signal is about to be delivered; give it, or 0 where it is none of the program's. */
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

/* The process to which a thread belongs; 0 if it is gone. */
static pid_t process_of(pid_t id)
{
    char text[1024];
    int of = 0;
    text[read_proc_file(id, "status", text, sizeof text - 1)] = '\0';
    const char *line = strstr(text, "\nTgid:");
    return line != NULL && sscanf(line, "\nTgid: %d", &of) == 1 ? of : 0;
}

/* The program becomes another one, which is not recorded. */
_Noreturn static void end_by_exec(pid_t id)
{
    while (thread_count > 0) {
        drop_thread(threads[0]);
    }
    stream_flush();
    ptrace(PTRACE_DETACH, id, NULL, NULL);
    _exit(0);
}

/* Let a process run free that cannot be recorded: the one at hand. */
static void detach_process(const char *why)
{
    char text[PATH_BYTES + 256], path[64], program[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->id);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(text, sizeof text, "process %u, %s, and what it starts: %s",
             (unsigned)process->number, program, why);
    ptrace(PTRACE_DETACH, process->id, NULL, NULL);
    drop_process();
    stream_select_first();
    put_meta("left_out", text);
}

/* Whether a process executes a program that can be stepped. */
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

/* The process at hand begins a program; false if it is left. */
static bool begin(pid_t id)
{
    bool is_first = !has_begun;
    has_begun = true;
    if (is_first && !open_memory()) {
        kill(id, SIGKILL);
        refuse("the program's memory cannot be read: is its file readable?");
    }
    if (!is_first && !is_of_this_machine(id)) {
        detach_process("it is no 64-bit program of this processor, or cannot be read");
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
    process->ignores_trap |= (signals(id, "SigIgn") & TRAP_BIT) != 0;
    return true;
}

/* The process at hand becomes another program. */
static bool begin_next(pid_t id)
{
    uint32_t number = process->number;
    bool ignores_trap = process->ignores_trap;
    put_meta("ending", "");
    drop_process();
    add_process(id, number);
    process->ignores_trap = ignores_trap;
    return begin(id);
}

/* The process at hand has ended so. */
static void end_process(int status)
{
    char how[64] = "";
    if (WIFSIGNALED(status)) {
        const char *name = NULL;
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 32)
        name = sigabbrev_np(WTERMSIG(status));
#endif
        if (name != NULL) {
            snprintf(how, sizeof how, "signal SIG%s", name);
        } else {
            snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
        }
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(how, sizeof how, "exit status %d", WEXITSTATUS(status));
    }
    if (!process->is_first) {
        put_meta("ending", how);
    }
    drop_process();
}

/* Processes that have stopped for the first time and whose parents have not told of them yet. */
static struct thread_stop {
    pid_t id;
    int status;
} *orphans;
static size_t orphan_count;

static void on_stop(pid_t id, int status);

/* A thread of the process at hand has started another process, or is gone before it told so. */
static void on_child(struct thread *parent, pid_t id)
{
    bool ignores_trap = process->ignores_trap;
    parent->has_child = true;
    add_process(id, ++processes_seen);
    process->ignores_trap = ignores_trap;
    open_memory(); /* it is left where that cannot be */
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

/* What has happened to threads and is not yet handled. */
static struct thread_stop *stops;
static size_t stop_count, stops_taken;

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

static bool any_thread_steps(void)
{
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i]->is_stepping && !threads[i]->is_stopped) {
            return true;
        }
    }
    return false;
}

/* Do exclusive stores while no other thread executes anything. */
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

/* Take a stop of a thread, and let it go on. */
static void on_stop(pid_t id, int status)
{
    int number = WSTOPSIG(status), event = status >> 16, deliver = 0;
    if (event == PTRACE_EVENT_EXEC && !has_begun) {
        begin(id);
    } else if (event == PTRACE_EVENT_EXEC) {
        if (!follows_children) {
            end_by_exec(id);
        }
        select_process(find_process(id));
        if (!begin_next(id)) {
            return;
        }
    } else if (!has_begun) {
        /* Still the process that is going to be the program. */
        ptrace(event == PTRACE_EVENT_STOP && number != SIGTRAP ? PTRACE_LISTEN : PTRACE_CONT, id,
               NULL, (void *)(intptr_t)(event == 0 ? number : 0));
        return;
    }
    struct thread *thread = find_thread(id);
    if (thread == NULL) {
        pid_t of = process_of(id);
        struct process *known = find_process(of);
        if (known == NULL && follows_children && of == id) {
            orphans = grow(orphans, orphan_count, sizeof *orphans);
            orphans[orphan_count++] = (struct thread_stop){ id, status };
            return;
        }
        if (known == NULL) {
            ptrace(PTRACE_DETACH, id, NULL, NULL);
            return;
        }
        select_process(known);
        thread = add_thread(id);
        thread->is_new = true;
    }
    select_process(thread->process);
    if (process->memory < 0) {
        detach_process("its memory cannot be read");
        return;
    }
    if (thread->is_new) {
        thread->is_new = false;
        unblock_trap(thread);
        decode_next(thread);
    }
    if (event == PTRACE_EVENT_STOP) {
        if (number != SIGTRAP) { /* stopped as job control does it, until SIGCONT */
            thread->is_stepping = false;
            ptrace(PTRACE_LISTEN, id, NULL, NULL);
            return;
        }
        if (!thread->is_in_call && !thread->restarts) {
            if (!thread->blocks_trap) {
                unblock_trap(thread); /* a handler may be about to run */
            }
            decode_next(thread);
        }
    } else if (event == PTRACE_EVENT_EXIT) {
        registers after;
        if (thread->is_stepping && read_registers(id, &after) &&
            program_counter(&after) != program_counter(&thread->before)) {
            count_completed(thread, &after);
        }
        end_block(thread);
        ptrace(PTRACE_CONT, id, NULL, NULL);
        return;
    } else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
               event == PTRACE_EVENT_VFORK) {
        unsigned long child = 0;
        thread->is_in_call = true;
        ptrace(PTRACE_GETEVENTMSG, id, NULL, &child);
        if (follows_children && child != 0 && starts_process(thread)) {
            on_child(thread, (pid_t)child);
            select_process(thread->process);
        }
    } else if (number == CALL_STOP) {
        on_call(thread);
    } else if (event == 0) {
        deliver = on_signal(thread, number);
    }
    if (deliver == 0 && thread->now.kind == STORES_EXCLUSIVE) {
        store_exclusively(thread);
    }
    resume(thread, deliver);
}

static void trace_until_end(void)
{
    for (;;) {
        if (stops_taken == stop_count) {
            stops_taken = stop_count = 0;
            if (!wait_for_stop(0)) {
                return; /* nobody is left */
            }
            /* Take all that have stopped before one goes on: each has its turn. */
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
            on_child(thread, orphans[0].id); /* it was killed before it could tell */
            select_process(thread->process);
        }
        if (stop.id == process->id) {
            end_process(stop.status);
        } else {
            drop_thread(thread);
        }
    }
}

_Noreturn static void trace(pid_t id, int up, int down)
{
    add_process(id, ++processes_seen);
    process->is_first = true;
    pid_t self = getpid();
    char byte;
    (void)!write(up, &self, sizeof self);
    if (read(down, &byte, 1) != 1) {
        _exit(2);
    }
    long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT |
                   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (follows_children) {
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    }
    if (ptrace(PTRACE_SEIZE, id, NULL, (void *)options) != 0) {
        char why[256];
        snprintf(why, sizeof why,
                 "ptrace is refused (%s): by Yama, a container's seccomp profile or a debugger; "
                 "record with QEMU (Debian: apt install qemu-user)", strerror(errno));
        refuse(why);
    }
    put_meta("recorder", "step");
    put_meta("target", machine_name);
    put_meta("mode", "user");
    put_meta("in_doubt", "0");
    (void)!write(up, "", 1);
    close(up);
    trace_until_end();
    int error = 0;
    if (!has_begun && read(down, &error, sizeof error) == (ssize_t)sizeof error) {
        char why[256];
        snprintf(why, sizeof why, "the program cannot be run: %s", strerror(error));
        refuse(why);
    }
    put_end();
    stream_flush();
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: flashpager-step PIPE TAIL WHOM FILE NAME [ARGUMENTS]...\n");
        return 2;
    }
    int pipe_fd = atoi(argv[1]), tail_fd = atoi(argv[2]);
    one_stream = strcmp(argv[3], "one") == 0;
    follows_children = strcmp(argv[3], "children") == 0;
    int up[2], down[2];
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0) {
        perror("flashpager-step: pipe");
        return 2;
    }
    pid_t id = getpid();
    /* Without a signal to us when it ends: the program would find that pending, and where SIGCHLD
     * is ignored nobody could wait for it. */
    pid_t between = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (between == 0) {
        pid_t tracer = fork();
        if (tracer != 0) {
            _exit(tracer < 0);
        }
        /* In a session of its own: a terminal's signals are for the program. */
        setsid();
        signal(SIGPIPE, SIG_IGN);
        close(up[0]);
        close(down[1]);
        for (int fd = 0; fd < 3; fd++) {
            close(fd);
        }
        open("/dev/null", O_RDWR);
        (void)!dup(0);
        (void)!dup(0);
        if (chdir("/") != 0 || !stream_open(pipe_fd, tail_fd)) {
            _exit(2);
        }
        trace(id, up[1], down[0]);
    }
    close(up[1]);
    close(down[0]);
    close(pipe_fd);
    close(tail_fd);
    int status = 1;
    pid_t tracer;
    char byte;
    if (between < 0 || waitpid(between, &status, __WALL) != between || status != 0 ||
        read(up[0], &tracer, sizeof tracer) != (ssize_t)sizeof tracer) {
        fprintf(stderr, "flashpager-step: no process can be started\n");
        return 2;
    }
    prctl(PR_SET_PTRACER, (unsigned long)tracer, 0, 0, 0); /* Yama asks for it */
    (void)!write(down[1], "", 1);
    if (read(up[0], &byte, 1) != 1) {
        return 2; /* the tracer has told why */
    }
    /* Where things lie must not differ from run to run. */
    int before = personality(0xffffffff);
    if (before != -1) {
        personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    }
    execv(argv[4], argv + 5);
    int error = errno;
    (void)!write(down[1], &error, sizeof error);
    return 127;
}
