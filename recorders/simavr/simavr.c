/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs firmware of an AVR in simavr (libsimavr) and streams every executed block (recorders/README.md,
 * "Recorder stream").
 *
 *   flashpager-simavr --version
 *   flashpager-simavr --pipe FD --tail FD --mcu NAME [--hertz N] FIRMWARE
 *
 * Each instruction is executed by itself, so that a block ends where the processor jumped or took
 * an interrupt. An instruction that is skipped counts, since the processor fetches it. Bytes that
 * the firmware sends over its serial ports go to standard output.
 *
 * The run ends in a jump to itself or in sleep, both with interrupts disabled.
 */
#define _GNU_SOURCE
#include "../stream/stream.h"

#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The library of these headers. It is opened when the recorder runs, so that the recorder can be
 * installed without simavr. */
#define LIBRARY "libsimavr.so.2"

/* The functions of the library, under their own names. */
static struct {
    __typeof__(avr_make_mcu_by_name) *avr_make_mcu_by_name;
    __typeof__(avr_init) *avr_init;
    __typeof__(avr_run) *avr_run;
    __typeof__(avr_load_firmware) *avr_load_firmware;
    __typeof__(elf_read_firmware) *elf_read_firmware;
    __typeof__(avr_ioctl) *avr_ioctl;
    __typeof__(avr_io_getirq) *avr_io_getirq;
    __typeof__(avr_irq_register_notify) *avr_irq_register_notify;
    __typeof__(avr_global_logger_set) *avr_global_logger_set;
} library;

/* Bytes of the longest block. */
#define MAX_BLOCK_BYTES 8192u

/* A described block, in the list of blocks that begin at the same word of flash. */
struct block {
    struct block *next;
    uint32_t bytes;
    uint32_t instructions;
    uint32_t number;
};

static struct stream stream;
static struct block **blocks; /* by the word at which they begin */
static uint32_t block_count;
static volatile sig_atomic_t stopped_by;

/* The block being collected. */
static uint32_t block_start, block_end, block_instructions;

static void on_signal(int number)
{
    stopped_by = number;
}

_Noreturn static void fail(const char *subject, const char *reason)
{
    fprintf(stderr, "simavr: %s: %s\n", subject, reason);
    exit(2);
}

/* Opens the library. Returns false if it is not installed. */
static bool open_library(void)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
#define WANTED(name) { #name, &library.name }
        WANTED(avr_make_mcu_by_name), WANTED(avr_init),
        WANTED(avr_run),              WANTED(avr_load_firmware),
        WANTED(elf_read_firmware),    WANTED(avr_ioctl),
        WANTED(avr_io_getirq),        WANTED(avr_irq_register_notify),
        WANTED(avr_global_logger_set),
    };
    void *opened = dlopen(LIBRARY, RTLD_NOW);
    for (size_t i = 0; opened != NULL && i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(opened, wanted[i].name);
        if (function == NULL) {
            return false;
        }
        memcpy(wanted[i].function, &function, sizeof function);
    }
    return opened != NULL;
}

/* Puts the collected block into the stream. */
static void end_block(void)
{
    if (block_instructions == 0) {
        return;
    }
    struct block **at = &blocks[block_start / 2];
    while (*at != NULL && (*at)->bytes != block_end - block_start) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = malloc(sizeof **at);
        if (*at == NULL) {
            fail("memory", "the recorder is out of memory");
        }
        **at = (struct block){ NULL, block_end - block_start, block_instructions, block_count++ };
        stream_put_block(&stream, block_start, (*at)->bytes, block_instructions);
    }
    stream_put_word(&stream, (*at)->number);
    block_instructions = 0;
}

static uint16_t word_at(const avr_t *avr, uint32_t address)
{
    return address + 1 < avr->flashend + 1
               ? (uint16_t)(avr->flash[address] | avr->flash[address + 1] << 8)
               : 0;
}

static uint32_t length_of(uint16_t word)
{
    bool jumps = (word & 0xfe0c) == 0x940c;  /* jmp, call */
    bool direct = (word & 0xfc0f) == 0x9000; /* lds, sts */
    return jumps || direct ? 4 : 2;
}

/* Returns true for an instruction that may skip the next one. */
static bool may_skip(uint16_t word)
{
    return (word & 0xfc00) == 0x1000 ||                               /* cpse */
           (word & 0xfc08) == 0xfc00 ||                               /* sbrc, sbrs */
           (word & 0xff00) == 0x9900 || (word & 0xff00) == 0x9b00;    /* sbic, sbis */
}

/* Executes an instruction, or lets time pass while the processor sleeps. */
static void step(avr_t *avr)
{
    if (avr->state == cpu_Sleeping) {
        library.avr_run(avr);
        return;
    }
    uint32_t pc = avr->pc;
    uint16_t word = word_at(avr, pc);
    if (pc != block_end || block_end - block_start >= MAX_BLOCK_BYTES) {
        end_block();
        block_start = pc;
    }
    block_end = pc + length_of(word);
    block_instructions++;
    library.avr_run(avr);
    if (avr->pc != block_end) {
        uint32_t after_skipped = block_end + length_of(word_at(avr, block_end));
        if (may_skip(word) && avr->pc == after_skipped) {
            block_end = after_skipped;
            block_instructions++;
        } else {
            end_block();
            block_end = UINT32_MAX;
        }
    }
    if (avr->pc == pc && word == 0xcfff && !avr->sreg[S_I]) {
        avr->state = cpu_Done; /* rjmp to itself, as after exit() */
    }
}

static void print_byte(struct avr_irq_t *irq, uint32_t value, void *unused)
{
    (void)irq;
    (void)unused;
    putchar((int)(value & 255));
}

/* Prints the output of the serial ports. simavr, which would add colours, prints none. */
static void print_ports(avr_t *avr)
{
    for (char port = '0'; port <= '3'; port++) {
        uint32_t flags = 0;
        if (library.avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS(port), &flags) == 0) {
            flags &= ~(uint32_t)AVR_UART_FLAG_STDIO;
            library.avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS(port), &flags);
        }
        avr_irq_t *sent = library.avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ(port), UART_IRQ_OUTPUT);
        if (sent != NULL) {
            library.avr_irq_register_notify(sent, print_byte, NULL);
        }
    }
}

static void no_log(avr_t *avr, const int level, const char *format, va_list arguments)
{
    (void)avr;
    if (level <= LOG_ERROR) {
        vfprintf(stderr, format, arguments);
    }
}

static avr_t *make_machine(const char *mcu, unsigned long hertz, const char *file)
{
    elf_firmware_t firmware = { 0 };
    library.avr_global_logger_set(no_log);
    if (library.elf_read_firmware(file, &firmware) != 0) {
        fail(file, "is no ELF file for an AVR");
    }
    avr_t *avr = library.avr_make_mcu_by_name(mcu);
    if (avr == NULL) {
        fail(mcu, "simavr has no such processor (simavr --list-cores)");
    }
    library.avr_init(avr);
    if (firmware.flashsize > avr->flashend + 1) {
        fail(file, "is larger than this processor's flash");
    }
    library.avr_load_firmware(avr, &firmware);
    avr->frequency = hertz != 0 ? (uint32_t)hertz : firmware.frequency != 0 ? firmware.frequency
                                                                            : 16000000;
    avr->run_cycle_limit = 1; /* one instruction a call */
    avr->log = LOG_ERROR;
    print_ports(avr);
    return avr;
}

static void open_stream(int pipe_fd, int tail_fd)
{
    void *shared = mmap(NULL, STREAM_TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tail_fd, 0);
    if (pipe_fd < 0 || shared == MAP_FAILED) {
        fail("--pipe, --tail", "are not open files");
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    stream_begin(&stream, shared, pipe_fd);
    stream_put_meta(&stream, "recorder", "simavr");
    stream_put_meta(&stream, "target", "avr");
    stream_put_meta(&stream, "mode", "system");
    stream_put_meta(&stream, "in_doubt", "0");
}

int main(int argc, char **argv)
{
    const char *mcu = NULL, *file = NULL;
    int pipe_fd = -1, tail_fd = -1;
    unsigned long hertz = 0;
    bool is_here = open_library();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        return is_here ? 0 : 1;
    }
    if (!is_here) {
        fail(LIBRARY, "is not installed");
    }
    for (int i = 1; i < argc; i++) {
        bool has_value = argv[i][0] == '-' && i + 1 < argc;
        const char *value = has_value ? argv[i + 1] : "";
        if (has_value && strcmp(argv[i], "--pipe") == 0) {
            pipe_fd = atoi(value);
        } else if (has_value && strcmp(argv[i], "--tail") == 0) {
            tail_fd = atoi(value);
        } else if (has_value && strcmp(argv[i], "--mcu") == 0) {
            mcu = value;
        } else if (has_value && strcmp(argv[i], "--hertz") == 0) {
            hertz = strtoul(value, NULL, 10);
        } else {
            file = argv[i];
            continue;
        }
        i++;
    }
    if (mcu == NULL || file == NULL) {
        fail("arguments", "--mcu NAME and the firmware are needed");
    }
    avr_t *avr = make_machine(mcu, hertz, file);
    blocks = calloc(avr->flashend / 2 + 1, sizeof *blocks);
    if (blocks == NULL) {
        fail("memory", "the recorder is out of memory");
    }
    block_end = UINT32_MAX;
    open_stream(pipe_fd, tail_fd);
    while ((avr->state == cpu_Running || avr->state == cpu_Sleeping) && stopped_by == 0 &&
           stream.is_read && avr->pc < avr->flashend) {
        step(avr);
    }
    end_block();
    fflush(stdout);
    bool is_done = avr->state == cpu_Done;
    if (is_done) {
        stream_put_end(&stream);
    }
    stream_flush(&stream);
    if (!is_done && stopped_by == 0 && stream.is_read) {
        fprintf(stderr, "simavr: stops at 0x%x, where there is no valid instruction\n", avr->pc);
    }
    return is_done ? 0 : stopped_by != 0 ? 128 + stopped_by : 1;
}
