/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a process's arguments that the stream has. */
#define MAX_ARGUMENT_BYTES 16384

bool threads_together;
bool follows_children;
bool has_begun;
struct process *current;
struct thread **threads;
size_t thread_count;
uint32_t processes_seen;
static struct process **processes;
static size_t process_count;

_Noreturn void refuse(const char *reason)
{
    put_meta("refused", reason);
    output_flush();
    _exit(2);
}

void *grow(void *items, size_t count, size_t size)
{
    /* There is room up to the next power of two. */
    if ((count & (count - 1)) != 0) {
        return items;
    }
    void *more = realloc(items, (count ? 2 * count : 1) * size);
    if (more == NULL) {
        refuse("the stepper is out of memory");
    }
    return more;
}

void select_process(struct process *one)
{
    current = one;
    output_select(one->output);
}

struct process *find_process(pid_t id)
{
    for (size_t i = 0; i < process_count; i++) {
        if (processes[i]->id == id) {
            return processes[i];
        }
    }
    return NULL;
}

void add_process(pid_t id, uint32_t number)
{
    struct process *one = calloc(1, sizeof *one);
    if (one == NULL || (one->output = output_process_new()) == NULL) {
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

bool open_memory(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)current->id);
    current->memory = open(path, O_RDWR | O_CLOEXEC);
    return current->memory >= 0;
}

size_t read_proc_file(pid_t id, const char *name, char *into, size_t bytes)
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

void announce_process(void)
{
    static char text[MAX_DESCRIPTION_BYTES];
    char name[32], path[64];
    size_t length = read_proc_file(current->id, "comm", name, sizeof name);
    while (length > 0 && (length == sizeof name || name[length - 1] == '\n')) {
        length--;
    }
    int head = snprintf(text, 64, "process-%u-%.*s", (unsigned)current->number, (int)length, name);
    size_t used = (size_t)head + 1;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)current->id);
    ssize_t got = readlink(path, text + used, PATH_BYTES);
    used += got > 0 ? (size_t)got : 0;
    text[used++] = '\0';
    size_t arguments = read_proc_file(current->id, "cmdline", text + used, MAX_ARGUMENT_BYTES);
    bool are_cut = arguments == MAX_ARGUMENT_BYTES;
    put_process(text, used + arguments);
    if (are_cut) {
        put_meta("left_out", "arguments behind the first 16 KB");
    }
}

struct thread *find_thread(pid_t id)
{
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i]->id == id) {
            return threads[i];
        }
    }
    return NULL;
}

struct thread *add_thread(pid_t id)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        refuse("the stepper is out of memory");
    }
    thread->id = id;
    thread->process = current;
    thread->number = current->threads_seen++;
    threads = grow(threads, thread_count, sizeof *threads);
    threads[thread_count++] = thread;
    return thread;
}

void drop_thread(struct thread *thread)
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

void drop_process(void)
{
    for (size_t i = 0; i < thread_count;) {
        if (threads[i]->process == current) {
            drop_thread(threads[i]); /* moves another one to i */
        } else {
            i++;
        }
    }
    for (size_t i = 0; i < process_count; i++) {
        if (processes[i] == current) {
            processes[i] = processes[--process_count];
            break;
        }
    }
    for (size_t i = 0; i < current->reported_map_count; i++) {
        free(current->reported_maps[i].path);
    }
    if (current->memory >= 0) {
        close(current->memory);
    }
    output_process_free(current->output);
    free(current->reported_maps);
    free(current->regions);
    free(current);
    current = NULL;
}

uint64_t signal_set(pid_t id, const char *name)
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

pid_t process_of(pid_t id)
{
    char text[1024];
    int of = 0;
    text[read_proc_file(id, "status", text, sizeof text - 1)] = '\0';
    const char *line = strstr(text, "\nTgid:");
    return line != NULL && sscanf(line, "\nTgid: %d", &of) == 1 ? of : 0;
}
