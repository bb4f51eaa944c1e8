/*
 * The cycles of each job of a firmware with the pager, in simavr
 *
 * The program counter determines the job: by the functions in the firmware's symbol table, and by labels
 * between instructions, which take no cycle and no byte. A called function belongs to its caller's job,
 * unless it has a job of its own. Labels come from FP_PAGER_JOB_DONE() and FP_PAGER_STEP_DONE() in the
 * pager, and from AVR_JOB() of marks.h in a program.
 *
 * The report has several parts, one after another, in which faults are grouped by their operations. So
 * prices can be fitted to one part and compared with another.
 */
#ifndef FLASHPAGER_AVR_JOBS_H
#define FLASHPAGER_AVR_JOBS_H

#include "nand_chip.h"

#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum job {
    JOB_PROGRAM,
    JOB_READ,   /* taking bytes from windows */
    JOB_LOOKUP, /* opening a window: finding the frame of its page */
    JOB_FAULT,  /* a fault, without the following jobs */
    JOB_SEARCH,
    JOB_COMMAND,
    JOB_WAIT,
    JOB_COLUMN,
    JOB_SKIP,
    JOB_FETCH,
    JOB_CHECK,  /* checking a tag that was read */
    JOB_OTHERS, /* the first of the jobs that a program names itself */
    JOBS = JOB_OTHERS + 8
};

static const char *const job_names[JOB_OTHERS] = {
    "program", "read", "lookup", "fault", "search", "command",
    "wait",    "column", "skip", "fetch", "check"};

/* The jobs by symbol. A function's name may be followed by a dot, a label's name by anything. */
static const struct {
    const char *name;
    uint8_t is_label;
    enum job job;
} job_symbols[] = {
    {"fp_cursor_turn", 0, JOB_LOOKUP},
    {"fp_pager_page", 0, JOB_LOOKUP},
    {"fetch_page", 0, JOB_FAULT},
    {"fp_flash_load", 0, JOB_COMMAND},
    {"fp_flash_wait", 0, JOB_WAIT},
    {"fp_flash_column", 0, JOB_COLUMN},
    {"fp_flash_skip", 0, JOB_SKIP},
    {"fp_flash_fetch", 0, JOB_FETCH},
    {"authenticate", 0, JOB_CHECK},
    {"fp_done_FP_PAGER_PRE_PROCESS", 1, JOB_SEARCH},
    {"fp_done_FP_PAGER_GET_FREEFRAME", 1, JOB_FAULT},
    {"fp_job_program", 1, JOB_PROGRAM},
    {"fp_job_read", 1, JOB_READ},
    {"fp_job_other0", 1, JOB_OTHERS + 0},
    {"fp_job_other1", 1, JOB_OTHERS + 1},
    {"fp_job_other2", 1, JOB_OTHERS + 2},
    {"fp_job_other3", 1, JOB_OTHERS + 3},
    {"fp_job_other4", 1, JOB_OTHERS + 4},
    {"fp_job_other5", 1, JOB_OTHERS + 5},
    {"fp_job_other6", 1, JOB_OTHERS + 6},
    {"fp_job_other7", 1, JOB_OTHERS + 7},
};
#define JOB_SYMBOLS (sizeof(job_symbols) / sizeof(job_symbols[0]))
#define JOB_STEP "fp_step"

/* Faults with the same operations, and their cycles by job. */
struct job_class {
    uint32_t loads, column_changes, skipped, fetched, walk;
    uint64_t faults;
    uint64_t cycles[JOBS];
};

#define JOB_MARKS 256
#define JOB_DEPTH 64
#define JOB_CLASSES 65536

static struct {
    avr_t *avr;
    struct {
        uint32_t address;
        int symbol; /* or -1 for a step */
    } marks[JOB_MARKS];
    unsigned count;
    uint8_t is_marked[1 << 16]; /* by word of the program */
    struct {
        uint16_t sp;
        enum job job;
    } frames[JOB_DEPTH];
    unsigned depth; /* index of the topmost frame */
    uint64_t cycles[JOBS];
    unsigned part;
    uint64_t hits;
    struct job_class *classes;
    unsigned classes_count;
    /* The current call of fp_cursor_turn(). */
    unsigned turn_depth; /* 0 for none */
    uint8_t is_fault;
    uint64_t before[JOBS];
    struct nand_counts nand_before;
    struct job_class current;
} jobs;

static void job_add(const elf_firmware_t *firmware, int is_label)
{
    for (uint32_t i = 0; i < firmware->symbolcount; i++) {
        const char *name = firmware->symbol[i]->symbol;
        const uint32_t address = firmware->symbol[i]->addr;
        int found = -2;
        if (address >= 1u << 17)
            continue;
        if (is_label && !strncmp(name, JOB_STEP, strlen(JOB_STEP)))
            found = -1;
        for (unsigned symbol = 0; symbol < JOB_SYMBOLS; symbol++) {
            const size_t length = strlen(job_symbols[symbol].name);
            const char end = is_label ? '_' : '.';
            if (job_symbols[symbol].is_label == is_label &&
                !strncmp(name, job_symbols[symbol].name, length) &&
                (name[length] == 0 || name[length] == end))
                found = (int)symbol;
        }
        if (found == -2)
            continue;
        if (jobs.count == JOB_MARKS)
            stop("too many labels");
        jobs.marks[jobs.count].address = address;
        jobs.marks[jobs.count++].symbol = found;
        jobs.is_marked[address >> 1] = 1;
    }
}

/* Adds the marks. If a function and a label have the same address, the function comes first. */
static void jobs_begin(avr_t *avr, const elf_firmware_t *firmware)
{
    jobs.avr = avr;
    jobs.classes = calloc(JOB_CLASSES, sizeof(jobs.classes[0]));
    if (!jobs.classes)
        stop("out of memory");
    job_add(firmware, 0);
    job_add(firmware, 1);
    jobs.frames[0].sp = UINT16_MAX;
    avr->run_cycle_limit = 1;
}

static uint16_t job_sp(void)
{
    return (uint16_t)(jobs.avr->data[R_SPL] | jobs.avr->data[R_SPH] << 8);
}

static int job_same(const struct job_class *a, const struct job_class *b)
{
    return a->loads == b->loads && a->column_changes == b->column_changes &&
           a->skipped == b->skipped && a->fetched == b->fetched && a->walk == b->walk;
}

static void job_turn_ends(void)
{
    struct job_class *found = jobs.classes;
    jobs.turn_depth = 0;
    if (!jobs.is_fault) {
        jobs.hits++;
        return;
    }
    jobs.current.loads = nand.counts.loads - jobs.nand_before.loads;
    jobs.current.column_changes = nand.counts.column_changes - jobs.nand_before.column_changes;
    jobs.current.skipped = nand.counts.bytes_skipped - jobs.nand_before.bytes_skipped;
    jobs.current.fetched = nand.counts.bytes_fetched - jobs.nand_before.bytes_fetched;
    while (found < jobs.classes + jobs.classes_count && !job_same(found, &jobs.current))
        found++;
    if (found == jobs.classes + jobs.classes_count) {
        if (jobs.classes_count == JOB_CLASSES)
            stop("too many kinds of faults");
        *found = jobs.current;
        jobs.classes_count++;
    }
    found->faults++;
    for (unsigned job = 0; job < JOBS; job++)
        found->cycles[job] += jobs.cycles[job] - jobs.before[job];
}

static void job_enter(enum job job)
{
    /* With an unchanged stack pointer, this is a loop to the function's first instruction, or a tail call. */
    if (jobs.depth && job_sp() == jobs.frames[jobs.depth].sp) {
        jobs.frames[jobs.depth].job = job;
        return;
    }
    if (jobs.depth == JOB_DEPTH - 1)
        stop("calls nest too deeply");
    jobs.depth++;
    jobs.frames[jobs.depth].sp = job_sp();
    jobs.frames[jobs.depth].job = job;
    if (job == JOB_LOOKUP && !jobs.turn_depth) {
        jobs.turn_depth = jobs.depth;
        jobs.is_fault = 0;
        jobs.nand_before = nand.counts;
        memset(&jobs.current, 0, sizeof(jobs.current));
        memcpy(jobs.before, jobs.cycles, sizeof(jobs.before));
    }
    if (job == JOB_FAULT)
        jobs.is_fault = 1;
}

static void job_arrive(uint32_t address)
{
    for (unsigned i = 0; i < jobs.count; i++) {
        if (jobs.marks[i].address != address)
            continue;
        if (jobs.marks[i].symbol == -1)
            jobs.current.walk++;
        else if (job_symbols[jobs.marks[i].symbol].is_label)
            jobs.frames[jobs.depth].job = job_symbols[jobs.marks[i].symbol].job;
        else
            job_enter(job_symbols[jobs.marks[i].symbol].job);
    }
}

/* Runs an instruction, and adds its cycles to its job. */
static int jobs_run(void)
{
    avr_t *avr = jobs.avr;
    const avr_cycle_count_t before = avr->cycle;
    int state;
    while (job_sp() > jobs.frames[jobs.depth].sp) {
        if (jobs.depth == jobs.turn_depth)
            job_turn_ends();
        jobs.depth--;
    }
    if (jobs.is_marked[avr->pc >> 1])
        job_arrive(avr->pc);
    state = avr_run(avr);
    jobs.cycles[jobs.frames[jobs.depth].job] += avr->cycle - before;
    return state;
}

/* Begins the part of the report anew. */
static void jobs_forget(void)
{
    memset(jobs.cycles, 0, sizeof(jobs.cycles));
    jobs.hits = jobs.classes_count = 0;
}

/* Prints a part of the report, and begins the next. */
static void jobs_print(void)
{
    const unsigned part = jobs.part++;
    printf("hits_%u %llu\n", part, (unsigned long long)jobs.hits);
    for (unsigned job = 0; job < JOBS; job++) {
        const unsigned long long cycles = jobs.cycles[job];
        if (job < JOB_OTHERS)
            printf("%s_%u %llu\n", job_names[job], part, cycles);
        else if (cycles)
            printf("other%u_%u %llu\n", job - JOB_OTHERS, part, cycles);
    }
    for (unsigned i = 0; i < jobs.classes_count; i++) {
        const struct job_class *each = jobs.classes + i;
        printf("faults %u %u %u %u %u %u %llu", part, each->loads, each->column_changes,
               each->skipped, each->fetched, each->walk, (unsigned long long)each->faults);
        for (unsigned job = JOB_LOOKUP; job < JOB_OTHERS; job++)
            printf(" %llu", (unsigned long long)each->cycles[job]);
        putchar('\n');
    }
    jobs_forget();
}

#endif
