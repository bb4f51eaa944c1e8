/* Runs all tests, or those named as arguments, each in a process of its own and --jobs of them at a
 * time. --list prints their names. */
#define _DEFAULT_SOURCE

#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 600u
#define JOBS_MAX 256u

static struct test_list *lists;

/* Called before main(), by each file with tests. */
void test_add_list(struct test_list *list)
{
    struct test_list **end = &lists;
    while (*end)
        end = &(*end)->next;
    *end = list;
}

/* A test that is running. */
struct job {
    const struct test *test; /* NULL if there is none */
    pid_t process;
    FILE *output; /* its output on stderr */
    char *now;    /* its test_now, in shared memory */
};

static struct job jobs[JOBS_MAX];
static unsigned job_count = 1;
static unsigned running, passed, failed;

static void fail_to(const char *message)
{
    perror(message);
    exit(1);
}

static void start(struct job *job, const struct test *test)
{
    fflush(NULL);
    job->test = test;
    job->output = tmpfile();
    if (!job->output)
        fail_to("tmpfile");
    *job->now = 0;
    job->process = fork();
    if (job->process < 0)
        fail_to("fork");
    if (!job->process) {
        test_now = job->now;
        dup2(fileno(job->output), STDERR_FILENO);
        alarm(TEST_SECONDS);
        test->run();
        /* Not _exit(): the search for leaks runs in exit(). */
        exit(0);
    }
    running++;
}

/* Prints how a test ended, and its output if it failed. */
static void report(struct job *job, int status, const struct rusage *used)
{
    bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
    /* Processor time, which a busy machine does not change. */
    double seconds = (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                     (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1e-6;
    printf("%-48s %-6s %6.2f s\n", job->test->name, ok ? "ok" : "FAILED", seconds);
    if (!ok) {
        char line[4096];
        rewind(job->output);
        while (fgets(line, sizeof(line), job->output))
            printf("    %s", line);
        if (WIFSIGNALED(status))
            printf("    signal %d%s\n", WTERMSIG(status),
                   WTERMSIG(status) == SIGALRM ? ": it took too long" : "");
        if (*job->now)
            printf("    at %s\n", job->now);
    }
    fflush(stdout);
    fclose(job->output);
    job->test = NULL;
    running--;
    *(ok ? &passed : &failed) += 1;
}

static void wait_for_one(void)
{
    struct rusage used;
    int status;
    pid_t process = wait4(-1, &status, 0, &used);
    if (process < 0)
        fail_to("wait4");
    for (unsigned i = 0; i < job_count; i++)
        if (jobs[i].test && jobs[i].process == process)
            report(&jobs[i], status, &used);
}

static void run(const struct test *test)
{
    if (running == job_count)
        wait_for_one();
    for (unsigned i = 0; i < job_count; i++) {
        if (!jobs[i].test) {
            start(&jobs[i], test);
            return;
        }
    }
}

static const struct test *find(const char *name)
{
    for (const struct test_list *list = lists; list; list = list->next)
        for (const struct test *test = list->tests; test->name; test++)
            if (!strcmp(test->name, name))
                return test;
    fprintf(stderr, "%s: no such test; --list gives their names\n", name);
    exit(1);
}

int main(int argc, char **argv)
{
    int first = 1;
    bool listing = argc > 1 && !strcmp(argv[1], "--list");
    if (argc > 2 && !strcmp(argv[1], "--jobs")) {
        job_count = (unsigned)strtoul(argv[2], NULL, 10);
        job_count = job_count < 1 ? 1 : job_count > JOBS_MAX ? JOBS_MAX : job_count;
        first = 3;
    }
    char *shared = mmap(NULL, (size_t)job_count * TEST_NOW_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail_to("mmap");
    for (unsigned i = 0; i < job_count; i++)
        jobs[i].now = shared + (size_t)i * TEST_NOW_BYTES;
    for (int i = first; i < argc && !listing; i++)
        run(find(argv[i]));
    for (const struct test_list *list = lists; list && (listing || first >= argc);
         list = list->next) {
        for (const struct test *test = list->tests; test->name; test++) {
            if (listing)
                puts(test->name);
            else
                run(test);
        }
    }
    while (running)
        wait_for_one();
    if (!listing)
        printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
