/* A small test runner: each test is a function that runs in a process of its own, so that an abort,
 * a crash or a hang is a failed test. */
#ifndef FLASHPAGER_TEST_H
#define FLASHPAGER_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
    const char *name;
    void (*run)(void);
};

/* Follows a file's tests[], which ends with a NULL name. The runner finds it by itself. */
#define TEST_LIST(tests)                                                                         \
    __attribute__((constructor)) static void add_tests(void)                                     \
    {                                                                                            \
        static struct test_list list = {tests, NULL};                                            \
        test_add_list(&list);                                                                    \
    }

struct test_list {
    const struct test *tests;
    struct test_list *next;
};

void test_add_list(struct test_list *list);

/* Sanitizers are slow: tests with repetitions repeat less often. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Rounds of a test that repeats itself with other seeds, of which `full` is a thorough number: a
 * quarter of it, or a twentieth with sanitizers. FLASHPAGER_TEST_ROUNDS=n, for a soak, gives n
 * times `full`, or n twentieths of it with sanitizers. */
uint32_t test_rounds(uint32_t full);

/* The first seed: 0, or FLASHPAGER_TEST_SEED. By default that seed alone is then run. */
uint32_t test_first(void);

/* Text that a failure prints: the state of a loop, to repeat it. */
#define TEST_NOW_BYTES 512
extern char *test_now;
void test_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define EXPECT(condition)                                                                         \
    do {                                                                                         \
        if (!(condition))                                                                        \
            FAIL("%s", #condition);                                                              \
    } while (0)
#define EXPECT_EQ(left, right)                                                                    \
    do {                                                                                         \
        long long left_ = (long long)(left), right_ = (long long)(right);                        \
        if (left_ != right_)                                                                     \
            FAIL("%s is %lld, not %s, %lld", #left, left_, #right, right_);                      \
    } while (0)

/* Returns true if `run` aborts, in a process of its own, and prints `line` on stderr. */
bool test_aborts(void (*run)(void *), void *argument, const char *line);

/* Random numbers from a seed: SplitMix64. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((random_next(state) >> 32) * bound >> 32);
}

#endif
