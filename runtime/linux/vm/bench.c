/* bench random|fixed|last CHUNK_KB PAGES REPEATS MOST_MB REFUSALS SECONDS: MTDCOMPR's program.
 * Allocates chunk by chunk, fills each chunk, and reads part of the allocated memory. `random` reads
 * PAGES pages; `fixed` and `last` read a chunk REPEATS times. Prints a line for each chunk, and one at
 * the end of memory:
 *     point READING ALLOCATED_BYTES READ_BYTES NANOSECONDS AFTER FAULTS LOADS PROGRAMS ERASURES
 *     end READING ALLOCATED_BYTES END PAGES_IN PAGES_OUT LOADS PROGRAMS ERASURES
 * Before the reads it waits until all pages sent out are written. AFTER is the time in nanoseconds from
 * the end of the reads until all pages sent out meanwhile are written. The last three values are the
 * chip's operations, 0 without a chip. END is:
 *     killed  the kernel killed the program
 *     stuck   a chunk had more than REFUSALS refused writes, or took more than SECONDS of processor time
 *     most    MOST_MB were allocated
 *     wrong   a page had wrong contents
 *     failed  the program could not start
 *
 * bench churn MB PAGES: fills MB, changes PAGES pages at random, then as many again. Times only the
 * last step, until all pages sent out are written:
 *     churn PAGES NANOSECONDS PAGES_IN PAGES_OUT LOADS PROGRAMS ERASURES
 *
 * bench idle MB ROUNDS: swaps pages out and in again, with no other load. Prints a line for each round:
 *     idle PAGES OUT_NANOSECONDS IN_NANOSECONDS */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define WORDS (PAGE_BYTES / sizeof(uint64_t))
#define LINE_WORDS 8u
#define WRONG 3

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

/* The child's progress, shared with the parent. */
struct progress {
    volatile uint64_t pages;  /* filled */
    volatile uint64_t chunks; /* filled and read */
};

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Fills a page with lines of 64 bytes: a quarter of them is random, the others repeat the line before.
 * The exclusive or of all words is the page's number, so that a page can be checked by itself. */
static void fill(uint64_t *words, uint64_t page)
{
    uint64_t state = page;
    uint64_t all = page;

    for (size_t i = 0; i < WORDS - 1; i++) {
        if (i < LINE_WORDS)
            words[i] = next(&state);
        else if (i % LINE_WORDS == 0 && next(&state) % 4 == 0)
            for (size_t j = i; j < i + LINE_WORDS; j++)
                words[j] = next(&state);
        else if (i % LINE_WORDS == 0)
            memcpy(words + i, words + i - LINE_WORDS, LINE_WORDS * sizeof(uint64_t));
        all ^= words[i];
    }
    words[WORDS - 1] = all;
}

/* Reads a whole page; returns whether it is right. */
static int is_right(const volatile uint64_t *words, uint64_t page)
{
    uint64_t all = 0;

    for (size_t i = 0; i < WORDS; i++)
        all ^= words[i];
    return all == page;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_majflt;
}

static uint64_t vmstat(const char *name)
{
    char line[128];
    uint64_t value = 0;
    FILE *file = fopen("/proc/vmstat", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ')
            value = strtoull(line + strlen(name), NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}

/* Operations of the chip so far. */
struct chip {
    uint64_t loads;
    uint64_t programs;
    uint64_t erasures;
};

static uint64_t asked(const char *message)
{
    char name[64];
    unsigned long long value = 0;
    FILE *file;

    snprintf(name, sizeof(name), "/sys/module/slowchip/parameters/%s", message);
    file = fopen(name, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%llu", &value) != 1)
        value = 0;
    fclose(file);
    return value;
}

static struct chip chip(void)
{
    return (struct chip){asked("loads"), asked("programs"), asked("erasures")};
}

/* Returns how many writes the device has refused so far. */
static uint64_t refused(void)
{
    unsigned long long writes = 0;
    FILE *file = fopen("/sys/block/fpswap0/io_stat", "r");

    if (file && fscanf(file, "%*u %llu", &writes) != 1)
        writes = 0;
    if (file)
        fclose(file);
    return writes;
}

/* Waits until no page is on its way out; 10 s at most. */
static void settle(void)
{
    for (int again = 0; again < 10000; again++) {
        char text[16];
        /* Reading this file adds up the counts of all processors. */
        int file = open("/proc/sys/vm/stat_refresh", O_RDONLY);

        if (file >= 0) {
            if (read(file, text, sizeof(text)) < 0)
                perror("bench: stat_refresh");
            close(file);
        }
        if (vmstat("nr_writeback") == 0)
            return;
        usleep(1000);
    }
}

/* Returns the nanoseconds in which the processor was not idle, in steps of 10 ms. Both times are
 * rounded down, so the difference may fall by a step. */
static uint64_t worked_ns(void)
{
    unsigned long long up[2] = {0, 0};
    unsigned long long idle[2] = {0, 0};
    FILE *file = fopen("/proc/uptime", "r");

    if (file && fscanf(file, "%llu.%2llu %llu.%2llu", &up[0], &up[1], &idle[0], &idle[1]) != 4)
        up[0] = up[1] = idle[0] = idle[1] = 0;
    if (file)
        fclose(file);
    return ((up[0] - idle[0]) * 100 + up[1] - idle[1]) * 10000000;
}

static int is_longer(uint64_t since, uint64_t until, uint64_t least)
{
    return until > since && until - since > least;
}

static void *take(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        perror("bench: mmap");
        _exit(2);
    }
    return memory;
}

/* The program. It asks the kernel to kill it first when memory runs out. */
static int allocate(struct progress *progress, const char *reading, size_t chunk, size_t random,
                    size_t repeats, size_t most)
{
    uint64_t(*memory)[WORDS] = take(most * PAGE_BYTES);
    uint64_t dice = 1;
    int file = open("/proc/self/oom_score_adj", O_WRONLY);

    if (file < 0 || write(file, "1000", 4) != 4)
        return 2;
    close(file);
    while (progress->pages + chunk <= most) {
        size_t start = progress->pages;
        size_t end = start + chunk;
        size_t first = start;
        size_t count = chunk * repeats;
        long before;
        struct chip chip_before, chip_after;
        uint64_t begun, ended, settled;
        int right = 1;

        for (size_t page = start; page < end; page++) {
            fill(memory[page], page);
            progress->pages = page + 1;
        }
        if (strcmp(reading, "fixed") == 0)
            first = next(&dice) % (end / chunk) * chunk;
        if (strcmp(reading, "random") == 0)
            count = random;
        settle();
        chip_before = chip();
        before = faults();
        begun = now_ns();
        for (size_t i = 0; i < count; i++) {
            size_t page = strcmp(reading, "random") == 0 ? next(&dice) % end : first + i % chunk;
            right &= is_right(memory[page], page);
        }
        ended = now_ns();
        if (!right)
            return WRONG;
        before = faults() - before;
        settle();
        settled = now_ns();
        chip_after = chip();
        printf("point %s %zu %zu %llu %llu %ld %llu %llu %llu\n", reading, end * PAGE_BYTES,
               count * PAGE_BYTES, (unsigned long long)(ended - begun),
               (unsigned long long)(settled - ended), before,
               (unsigned long long)(chip_after.loads - chip_before.loads),
               (unsigned long long)(chip_after.programs - chip_before.programs),
               (unsigned long long)(chip_after.erasures - chip_before.erasures));
        fflush(stdout);
        progress->chunks++;
    }
    return 0;
}

static int bench(char **arguments)
{
    size_t chunk = strtoull(arguments[2], NULL, 10) * 1024 / PAGE_BYTES;
    size_t random = strtoull(arguments[3], NULL, 10);
    size_t repeats = strtoull(arguments[4], NULL, 10);
    size_t most = strtoull(arguments[5], NULL, 10) * (1024 * 1024 / PAGE_BYTES);
    uint64_t patience = strtoull(arguments[7], NULL, 10) * 1000000000u;
    uint64_t refusals = strtoull(arguments[6], NULL, 10);
    uint64_t before = 0;
    uint64_t since = worked_ns();
    uint64_t refused_before = refused();
    struct chip chip_before = chip(), chip_after;
    struct progress *progress = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t in = vmstat("pswpin");
    uint64_t out = vmstat("pswpout");
    const char *how = NULL;
    int status = 0;
    pid_t child;

    if (progress == MAP_FAILED || chunk == 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 2;
    child = fork();
    if (child < 0)
        return 2;
    if (child == 0)
        _exit(allocate(progress, arguments[1], chunk, random, repeats, most));
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (progress->chunks != before) {
            before = progress->chunks;
            since = worked_ns();
            refused_before = refused();
        }
        if (!how && (is_longer(since, worked_ns(), patience) ||
                     refused() - refused_before > refusals)) {
            how = "stuck";
            kill(child, SIGKILL);
        }
        usleep(10000);
    }
    if (!how)
        how = WIFSIGNALED(status)            ? "killed"
              : WEXITSTATUS(status) == 0     ? "most"
              : WEXITSTATUS(status) == WRONG ? "wrong"
                                             : "failed";
    chip_after = chip();
    printf("end %s %llu %s %llu %llu %llu %llu %llu\n", arguments[1],
           (unsigned long long)progress->pages * PAGE_BYTES, how,
           (unsigned long long)(vmstat("pswpin") - in),
           (unsigned long long)(vmstat("pswpout") - out),
           (unsigned long long)(chip_after.loads - chip_before.loads),
           (unsigned long long)(chip_after.programs - chip_before.programs),
           (unsigned long long)(chip_after.erasures - chip_before.erasures));
    return 0;
}

/* Changes pages at random; returns whether all of them were right. */
static int change(uint64_t (*memory)[WORDS], size_t pages, size_t count, uint64_t *dice)
{
    int right = 1;

    while (count--) {
        size_t page = next(dice) % pages;
        uint64_t bits = next(dice);

        right &= is_right(memory[page], page);
        memory[page][0] ^= bits;
        memory[page][1] ^= bits;
    }
    return right;
}

static int churn(char **arguments)
{
    size_t pages = strtoull(arguments[2], NULL, 10) * (1024 * 1024 / PAGE_BYTES);
    size_t count = strtoull(arguments[3], NULL, 10);
    uint64_t(*memory)[WORDS] = take(pages * PAGE_BYTES);
    struct chip chip_before, chip_after;
    uint64_t dice = 1;
    uint64_t in, out, begun;
    int right;

    for (size_t page = 0; page < pages; page++)
        fill(memory[page], page);
    right = change(memory, pages, count, &dice);
    settle();
    chip_before = chip();
    in = vmstat("pswpin");
    out = vmstat("pswpout");
    begun = now_ns();
    right &= change(memory, pages, count, &dice);
    settle();
    begun = now_ns() - begun;
    chip_after = chip();
    if (!right) {
        printf("churn failed: a page was wrong\n");
        return WRONG;
    }
    printf("churn %zu %llu %llu %llu %llu %llu %llu\n", count, (unsigned long long)begun,
           (unsigned long long)(vmstat("pswpin") - in),
           (unsigned long long)(vmstat("pswpout") - out),
           (unsigned long long)(chip_after.loads - chip_before.loads),
           (unsigned long long)(chip_after.programs - chip_before.programs),
           (unsigned long long)(chip_after.erasures - chip_before.erasures));
    return 0;
}

static int idle(char **arguments)
{
    size_t pages = strtoull(arguments[2], NULL, 10) * (1024 * 1024 / PAGE_BYTES);
    uint64_t(*memory)[WORDS] = take(pages * PAGE_BYTES);
    unsigned char *resident = malloc(pages);

    for (size_t page = 0; page < pages; page++)
        fill(memory[page], page);
    for (int round = atoi(arguments[3]); round > 0; round--) {
        uint64_t begun;
        uint64_t out;
        size_t gone = 0;
        int right = 1;

        /* Change each page: an unchanged page still has its copy in swap, and would not be written. */
        for (size_t page = 0; page < pages; page++) {
            memory[page][0] ^= (uint64_t)round;
            memory[page][1] ^= (uint64_t)round;
        }
        begun = now_ns();
        if (madvise(memory, pages * PAGE_BYTES, MADV_PAGEOUT) != 0) {
            perror("bench: madvise");
            return 2;
        }
        out = now_ns() - begun;
        if (!resident || mincore(memory, pages * PAGE_BYTES, resident) != 0)
            return 2;
        for (size_t page = 0; page < pages; page++)
            gone += (resident[page] & 1) == 0;
        begun = now_ns();
        for (size_t page = 0; page < pages; page++)
            right &= is_right(memory[page], page);
        begun = now_ns() - begun;
        if (!right || gone < pages - pages / 50) {
            printf("idle failed: %zu of %zu pages went out\n", gone, pages);
            return 1;
        }
        printf("idle %zu %llu %llu\n", pages, (unsigned long long)out, (unsigned long long)begun);
    }
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "idle") == 0)
        return idle(arguments);
    if (count == 4 && strcmp(arguments[1], "churn") == 0)
        return churn(arguments);
    if (count == 8)
        return bench(arguments);
    fprintf(stderr, "bench: %d arguments are those of no command\n", count - 1);
    return 2;
}
