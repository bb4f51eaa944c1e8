#include "accesses.h"

#include <stddef.h>

volatile uint32_t accesses_left = UINT32_MAX;
void (*accesses_end)(void);

static inline void access_made(void)
{
    if (--accesses_left == 0)
        accesses_end();
}

/* The calls that compilers insert. */
#define ACCESS(name)                                                                              \
    void __tsan_##name(void *at);                                                                \
    void __tsan_##name(void *at)                                                                 \
    {                                                                                            \
        (void)at;                                                                                \
        access_made();                                                                           \
    }
#define ACCESSES(bytes)                                                                           \
    ACCESS(read##bytes)                                                                          \
    ACCESS(write##bytes)                                                                         \
    ACCESS(unaligned_read##bytes)                                                                \
    ACCESS(unaligned_write##bytes)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *at, size_t size);
void __tsan_read_range(void *at, size_t size)
{
    (void)at;
    (void)size;
    access_made();
}

void __tsan_write_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size)
{
    (void)at;
    (void)size;
    access_made();
}

uint8_t __tsan_atomic8_exchange(volatile uint8_t *at, uint8_t value, int order);
uint8_t __tsan_atomic8_exchange(volatile uint8_t *at, uint8_t value, int order)
{
    uint8_t before;
    (void)order;
    access_made();
    before = *at;
    *at = value;
    return before;
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void *caller);
void __tsan_func_exit(void *caller)
{
    (void)caller;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    access_made();
}
