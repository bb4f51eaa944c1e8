/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flashpager's QEMU recorder: a TCG plugin that streams every executed
 * translation block, in the order executed.
 *
 *   qemu-x86_64 -plugin recorder.so,pipe=FD,tail=FD program ...
 *
 *   pipe=FD   write end of the pipe to which the stream goes
 *   tail=FD   a shared-memory file of at least TAIL_BYTES: the recorder
 *             collects the stream there before it writes it to the pipe, so
 *             that the reader finds the last, unwritten piece even when the
 *             program is killed
 *
 * The stream is described in docs/formats.md ("Recorder stream"): the magic,
 * then 32-bit little-endian words. A word below 2^31 is the number of an
 * executed block; any other word heads a record (kind, payload bytes).
 *
 * A block counts as executed whole when it is entered: the instructions behind
 * one that faults inside a block are counted too. System calls and branches
 * end a block, so only hardware-style exceptions (SIGSEGV, data aborts) can
 * make that difference.
 */
#define _GNU_SOURCE
#include "qemu_plugin_api.h"

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
#define RECORD_FLAG UINT32_C(0x80000000)
#define PATH_BYTES 4096

enum record_kind { RECORD_META = 1, RECORD_MAP = 2, RECORD_BLOCK = 3, RECORD_END = 4 };

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

static struct tail *tail;
static size_t tail_capacity;
static int pipe_fd = -1;
static bool recording;
static bool system_emulation;
static bool described; /* the META records that need a running CPU are out */
static uint32_t block_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

/* Address ranges already told, or not worth telling. */
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

static void on_block_executed(unsigned int vcpu, void *number)
{
    (void)vcpu;
    if (!recording) {
        return;
    }
    acquire();
    put_word((uint32_t)(uintptr_t)number);
    release();
}

static void on_block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t instructions = qemu_plugin_tb_n_insns(tb);
    if (!recording || instructions == 0) {
        return;
    }
    const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, instructions - 1);
    uint64_t address = qemu_plugin_tb_vaddr(tb);
    uint64_t end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);

    acquire();
    if (!system_emulation) {
        if (!described) {
            char text[32];
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)qemu_plugin_start_code());
            put_meta("start_code", text);
            described = true;
        }
        if (!contains(&guest_known, address)) {
            uint64_t host = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first);
            for_each_mapped_file(put_guest_file, host - address);
            if (!contains(&guest_known, address)) {
                /* Code without a file (vdso, a JIT): do not look again. */
                add(&guest_known, address & ~UINT64_C(4095), (address | UINT64_C(4095)) + 1);
            }
        }
    }
    if (block_count < RECORD_FLAG - 1) {
        uint32_t payload[4] = { (uint32_t)address, (uint32_t)(address >> 32),
                                (uint32_t)(end - address), (uint32_t)instructions };
        put_record(RECORD_BLOCK, payload, sizeof payload);
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_executed, QEMU_PLUGIN_CB_NO_REGS,
                                             (void *)(uintptr_t)block_count);
        block_count++;
    }
    release();
}

static void on_emulator_exit(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    if (recording) {
        acquire();
        put_record(RECORD_END, NULL, 0);
        flush();
        recording = false;
        release();
    }
}

/* A forked child is another program run: it must neither write into the shared
 * tail nor hold the pipe open. */
static void on_forked_child(void)
{
    recording = false;
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

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    int tail_fd = -1;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "pipe=", 5) == 0) {
            pipe_fd = take_fd(argv[i] + 5);
        } else if (strncmp(argv[i], "tail=", 5) == 0) {
            tail_fd = take_fd(argv[i] + 5);
        } else {
            fprintf(stderr, "flashpager recorder: unknown argument '%s'\n", argv[i]);
            return 1;
        }
    }
    if (pipe_fd < 0 || tail_fd < 0) {
        fprintf(stderr, "flashpager recorder: needs pipe=FD and tail=FD, both open\n");
        return 1;
    }
    void *shared = mmap(NULL, TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    close(tail_fd);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "flashpager recorder: cannot map the tail: %s\n", strerror(errno));
        return 1;
    }
    tail = shared;
    tail_capacity = TAIL_BYTES - sizeof *tail;
    system_emulation = info->system_emulation;
    recording = true;
    for_each_mapped_file(keep_own_file, 0);
    pthread_atfork(NULL, NULL, on_forked_child);

    static const char magic[8] = "FPSTRM01";
    memcpy(tail->data, magic, sizeof magic);
    atomic_store(&tail->used, sizeof magic);
    put_meta("recorder", "qemu");
    put_meta("target", info->target_name);
    put_meta("mode", info->system_emulation ? "system" : "user");

    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block_translated);
    qemu_plugin_register_atexit_cb(id, on_emulator_exit, NULL);
    return 0;
}
