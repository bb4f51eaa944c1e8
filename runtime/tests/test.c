#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The last text of test_at(), which the runner has even if a test crashes. */
char *test_now = (char[TEST_NOW_BYTES]){0};

void test_at(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(test_now, TEST_NOW_BYTES, format, arguments);
    va_end(arguments);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", name ? name + 1 : file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    _exit(1);
}

bool test_aborts(void (*run)(void *), void *argument, const char *line)
{
    int ends[2];
    EXPECT(!pipe(ends));
    fflush(NULL);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (!child) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        run(argument);
        _exit(0);
    }
    close(ends[1]);
    char said[4096];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(said) - 1 &&
           (got = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0)
        length += (size_t)got;
    close(ends[0]);
    said[length] = 0;
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    /* A sanitizer may turn the signal into an exit of its own. */
    return !(WIFEXITED(status) && !WEXITSTATUS(status)) && strstr(said, line);
}

static uint32_t number(const char *name, uint32_t otherwise)
{
    const char *value = getenv(name);
    return value ? (uint32_t)strtoul(value, NULL, 10) : otherwise;
}

uint32_t test_first(void)
{
    return number("FLASHPAGER_TEST_SEED", 0);
}

uint32_t test_rounds(uint32_t full)
{
    uint32_t times = number("FLASHPAGER_TEST_ROUNDS", 0);
    if (getenv("FLASHPAGER_TEST_SEED"))
        return times ? times : 1;
    if (SANITIZED)
        return (full / 20 + 1) * (times ? times : 1);
    return times ? full * times : (full + 3) / 4;
}
