/* bench random|fixed|last CHUNK_KB PAGES REPEATS MOST_MB SECONDS: MTDCOMPR's program. Allocate
 * chunk by chunk, fill each, read some of what there is, until memory ends:
 *     point READING ALLOCATED_BYTES READ_BYTES NANOSECONDS FAULTS CHIP_READ CHIP_PROGRAMMED
 *     end READING ALLOCATED_BYTES killed|stuck|most|wrong PAGES_IN PAGES_OUT
 * What the chip was asked for meanwhile is in pages of 4096 bytes, 0 of what does not tell.
 * Memory ends where the kernel kills the program, or where a chunk takes it SECONDS.
 *
 * bench idle MB ROUNDS: send pages out and take them in again, nothing else going on:
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

/* What the parent sees of the child. */
struct progress {
    volatile uint64_t pages;  /* that are filled */
    volatile uint64_t chunks; /* that were read, too */
};

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Lines of 64 bytes, of which a quarter is random and the others repeat the one before. All words
 * together, by exclusive or, are the page's number: a page tells by itself whether it is right. */
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

/* Read all of a page; whether it is right. */
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

/* Pages of the chip that were read and programmed so far. */
static void chip(unsigned long long *read_pages, unsigned long long *programmed)
{
    FILE *file = fopen("/sys/block/fpswap0/bd_stat", "r");

    if (!file || fscanf(file, "%*u %llu %llu", read_pages, programmed) != 2)
        *read_pages = *programmed = 0;
    if (file)
        fclose(file);
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

/* The program: the first that the kernel ends when there is no more memory. */
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
        unsigned long long read_before, read_after, programmed_before, programmed_after;
        uint64_t begun;
        int right = 1;

        for (size_t page = start; page < end; page++) {
            fill(memory[page], page);
            progress->pages = page + 1;
        }
        if (strcmp(reading, "fixed") == 0)
            first = next(&dice) % (end / chunk) * chunk;
        if (strcmp(reading, "random") == 0)
            count = random;
        chip(&read_before, &programmed_before);
        before = faults();
        begun = now_ns();
        for (size_t i = 0; i < count; i++) {
            size_t page = strcmp(reading, "random") == 0 ? next(&dice) % end : first + i % chunk;
            right &= is_right(memory[page], page);
        }
        begun = now_ns() - begun;
        if (!right)
            return WRONG;
        before = faults() - before;
        chip(&read_after, &programmed_after);
        printf("point %s %zu %zu %llu %ld %llu %llu\n", reading, end * PAGE_BYTES,
               count * PAGE_BYTES, (unsigned long long)begun, before, read_after - read_before,
               programmed_after - programmed_before);
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
    uint64_t patience = strtoull(arguments[6], NULL, 10) * 1000000000u;
    uint64_t before = 0;
    uint64_t since = now_ns();
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
    if (child == 0)
        _exit(allocate(progress, arguments[1], chunk, random, repeats, most));
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (progress->chunks != before) {
            before = progress->chunks;
            since = now_ns();
        }
        if (!how && now_ns() - since > patience) {
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
    printf("end %s %llu %s %llu %llu\n", arguments[1],
           (unsigned long long)progress->pages * PAGE_BYTES, how,
           (unsigned long long)(vmstat("pswpin") - in),
           (unsigned long long)(vmstat("pswpout") - out));
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

        /* A page that was changed goes out; one that was not has its copy there still. */
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
    return count == 7 ? bench(arguments) : 2;
}
