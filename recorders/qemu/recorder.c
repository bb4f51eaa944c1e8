/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * flashpager's QEMU recorder: a TCG plugin that streams every executed
 * translation block, in the order executed.
 *
 *   qemu-x86_64 -plugin recorder.so,pipe=FD,tail=FD program ...
 *
 *   pipe=FD   write end of the pipe to which the stream goes
 *   tail=FD   shared memory of STREAM_TAIL_BYTES and one slot: the recorder
 *             collects the stream there before it writes it to the pipe, so
 *             that the reader finds the unwritten end even when the program is
 *             killed
 *   reads=START-END  also records data reads that touch these addresses, as
 *             linked; may be given several times
 *   linked=ADDRESS   address for which the program's executable segments were
 *             linked, in user mode; by default the program runs at that address
 *   one-stream  records all threads together, in the order executed; by default
 *             THREAD and SWITCH records distinguish them, once there are several
 *
 * recorders/README.md, "Recorder stream", describes the stream.
 *
 * Every instruction counts when it begins, in a counter of its processor. When
 * the next block begins, the counter shows how much of the previous block was
 * executed. A fault, a store into the block itself or an access to a device may
 * have cut that block short. QEMU before 8.0 also reports an instruction at a
 * page's end that it then leaves to the next block. The executed part of such a
 * block is described as a block of its own. A block thus enters the stream when
 * it has ended. Until then it is in the slot, for the reader of a killed program.
 */
#define _GNU_SOURCE
#include "plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* QEMU reads this after dlopen(). QEMU 9.0 refuses version 1, and QEMU 8.2
 * refuses version 2, so pick_version() sets the host's version. */
EXPORT int qemu_plugin_version = 1;

struct stream stream;
struct running_slot *slot;
struct running *running;
struct processor processors[MAX_RUNNING];
bool threads_together;
unsigned int current_vcpu;
uint64_t blocks_of_first;
uint32_t thread_count;
uint32_t block_count;
struct qemu_plugin_scoreboard *counters;
bool several_processors;
enum target target;
int api_version;
bool repeats_within;
bool system_emulation;
atomic_flag lock = ATOMIC_FLAG_INIT;
struct ranges watched_reads;
struct range watched_reads_span;
uint64_t linked_code = NEVER;

_Noreturn void out_of_memory(void)
{
    fprintf(stderr, "flashpager recorder: out of memory\n");
    _exit(1);
}

__attribute__((constructor)) static void pick_version(void)
{
    /* qemu_plugin_num_vcpus replaced qemu_plugin_n_vcpus in version 2. */
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus") != NULL) {
        qemu_plugin_version = 2;
    }
}

/* Registers a new processor. QEMU translates all code again when the second one begins. */
static void on_processor(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    if (vcpu > 0) {
        several_processors = true;
    }
    acquire();
    if (stream.is_read && vcpu < MAX_RUNNING) {
        processors[vcpu].thread = thread_count++;
        if (processors[vcpu].thread > 0 && !threads_together) {
            if (processors[vcpu].thread == 1) {
                put_thread(current_vcpu, blocks_of_first);
                atomic_store_explicit(&slot->names_threads, 1, memory_order_release);
            }
            put_thread(vcpu, 0);
        }
    }
    release();
}

/* Ends the last block of a thread that has ended. */
static void on_processor_exit(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    acquire();
    if (stream.is_read && vcpu < MAX_RUNNING && processors[vcpu].block != NULL) {
        change_block(vcpu, NULL);
    }
    release();
}

static void on_emulator_exit(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    if (stream.is_read) {
        acquire();
        for (unsigned int vcpu = 0; vcpu < MAX_RUNNING; vcpu++) {
            if (processors[vcpu].block != NULL) {
                change_block(vcpu, NULL);
            }
        }
        stream_put_end(&stream);
        stream_flush(&stream);
        stream.is_read = false;
        release();
    }
}

/* Notes that the program has forked a child, which runs unrecorded. */
static void on_fork(void)
{
    acquire();
    if (stream.is_read) {
        stream_put_meta(&stream, "children", "1");
    }
    release();
}

/* Detaches a forked child from the stream. The child is another run of the
 * program: it must neither write into the shared tail nor hold the pipe open. */
static void on_forked_child(void)
{
    stream.is_read = false;
    /* Translated code continues to count, in memory of the child's own. */
    mmap(stream.tail, STREAM_TAIL_BYTES + SLOT_BYTES, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (stream.pipe >= 0) {
        close(stream.pipe);
        stream.pipe = -1;
    }
}

/* Moves a file descriptor to a high number, since guests may close low ones. */
static int take_fd(const char *text)
{
    int fd = fcntl(atoi(text), F_DUPFD_CLOEXEC, 512);
    if (fd < 0) {
        fd = fcntl(atoi(text), F_DUPFD_CLOEXEC, 3);
    }
    close(atoi(text));
    return fd;
}

/* The targets that can be recorded, by the start of QEMU's name. Tests check the lengths of each. */
static const struct {
    const char *begins;
    enum target target;
} targets[] = {
    { "aarch64", AARCH64 },  { "alpha", OTHER },    { "arm", ARM },        { "avr", AVR },
    { "hexagon", OTHER },    { "hppa", OTHER },     { "i386", X86 },       { "loongarch64", WORDS },
    { "m68k", OTHER },       { "microblaze", WORDS }, { "mips", OTHER },   { "nios2", WORDS },
    { "or1k", OTHER },       { "ppc", OTHER },      { "riscv", RISCV },    { "s390x", OTHER },
    { "sh4", OTHER },        { "sparc", OTHER },    { "tricore", TRICORE }, { "x86_64", X86 },
    { "xtensa", OTHER },
};

/* Finds the target by QEMU's name. Returns false for one that is not recorded. */
static bool find_target(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strncmp(name, targets[i].begins, strlen(targets[i].begins)) == 0) {
            target = targets[i].target;
            return true;
        }
    }
    return false;
}

/* Reads the plugin's arguments. Returns false if one is wrong. */
static bool parse_arguments(int argc, char **argv, int *pipe_fd, int *tail_fd)
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "pipe=", 5) == 0) {
            *pipe_fd = take_fd(argv[i] + 5);
        } else if (strncmp(argv[i], "tail=", 5) == 0) {
            *tail_fd = take_fd(argv[i] + 5);
        } else if (strncmp(argv[i], "reads=", 6) == 0) {
            char *end;
            uint64_t from = strtoull(argv[i] + 6, &end, 0);
            uint64_t to = *end == '-' ? strtoull(end + 1, &end, 0) : 0;
            if (*end != '\0' || to <= from || !add_range(&watched_reads, from, to)) {
                fprintf(stderr, "flashpager recorder: '%s' is not a range\n", argv[i]);
                return false;
            }
        } else if (strncmp(argv[i], "linked=", 7) == 0) {
            linked_code = strtoull(argv[i] + 7, NULL, 0);
        } else if (strcmp(argv[i], "one-stream") == 0 || strcmp(argv[i], "one-stream=on") == 0) {
            threads_together = true;
        } else {
            fprintf(stderr, "flashpager recorder: unknown argument '%s'\n", argv[i]);
            return false;
        }
    }
    return true;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    int pipe_fd = -1, tail_fd = -1;
    if (!parse_arguments(argc, argv, &pipe_fd, &tail_fd)) {
        return 1;
    }
    if (pipe_fd < 0 || tail_fd < 0) {
        fprintf(stderr, "flashpager recorder: needs pipe=FD and tail=FD, both open\n");
        return 1;
    }
    void *shared =
        mmap(NULL, STREAM_TAIL_BYTES + SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    close(tail_fd);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "flashpager recorder: cannot map the tail: %s\n", strerror(errno));
        return 1;
    }
    slot = (void *)((unsigned char *)shared + STREAM_TAIL_BYTES);
    slot->kind = SLOT_RUNNING;
    running = slot->processors;
    system_emulation = info->system_emulation;
    api_version = info->version.cur;
    /* True for QEMU 10.0; QEMU 9.2 has the same version and is treated alike. */
    repeats_within = api_version >= 4;
    if (qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu != NULL) {
        counters = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    }
    remember_own_files();
    stream_begin(&stream, shared, pipe_fd);
    pthread_atfork(NULL, on_fork, on_forked_child);

    stream_put_meta(&stream, "recorder", "qemu");
    stream_put_meta(&stream, "target", info->target_name);
    stream_put_meta(&stream, "mode", info->system_emulation ? "system" : "user");
    stream_put_meta(&stream, "in_doubt", "0");
    if (!find_target(info->target_name)) {
        char text[160];
        snprintf(text, sizeof text,
                 "qemu: the lengths of %s instructions are not known, which QEMU does not report",
                 info->target_name);
        stream_put_meta(&stream, "refused", text);
    }

    qemu_plugin_register_vcpu_init_cb(id, on_processor);
    qemu_plugin_register_vcpu_exit_cb(id, on_processor_exit);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block_translated);
    qemu_plugin_register_atexit_cb(id, on_emulator_exit, NULL);
    return 0;
}
