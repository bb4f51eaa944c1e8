/* Runs all tests, or those named as arguments. */
#define _DEFAULT_SOURCE

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 600u

/* Of the processor, so that a busy machine gives the same. */
static double seconds_of_children(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static bool passes(const struct test *test)
{
    fflush(NULL);
    *test_now = 0;
    double start = seconds_of_children();
    pid_t child = fork();
    if (!child) {
        alarm(TEST_SECONDS);
        test->run();
        /* Not _exit(): leaks are looked for in exit(). */
        exit(0);
    }
    int status = 1;
    if (child > 0)
        waitpid(child, &status, 0);
    bool passed = child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
    if (child > 0 && WIFSIGNALED(status))
        fprintf(stderr, "%s: signal %d\n", test->name, WTERMSIG(status));
    if (!passed && *test_now)
        fprintf(stderr, "%s: at %s\n", test->name, test_now);
    printf("%-48s %-6s %6.2f s\n", test->name, passed ? "ok" : "FAILED",
           seconds_of_children() - start);
    return passed;
}

int main(int argc, char **argv)
{
    static const struct test *const lists[] = {
        emulated_tests, store_tests, random_tests,   power_tests,
        damage_tests,   mount_tests, fragment_tests, compressor_tests};
    unsigned passed = 0, failed = 0;
    void *shared = mmap(NULL, TEST_NOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    test_now = shared;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        for (const struct test *test = lists[i]; test->name; test++) {
            bool wanted = argc < 2;
            for (int j = 1; j < argc; j++)
                wanted |= !strcmp(argv[j], test->name);
            if (wanted && passes(test))
                passed++;
            else if (wanted)
                failed++;
        }
    }
    if (!passed && !failed) {
        fprintf(stderr, "no such test\n");
        return 1;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
