/*
 * Two tasks and an interrupt in one pager, with the design of the including file
 *
 * Random schedules: at any access to memory the other task goes on, or the interrupt's handler runs. Each
 * byte must be right, or the call refused; no byte is ever wrong. The chip refuses what it cannot do.
 */
#define _DEFAULT_SOURCE
#include "accesses.h"
#include "test.h"

#include <string.h>
#include <ucontext.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#include "../pager/pager.c"

enum { MAIN = -1, TASKS = 2, HANDLER = TASKS, CONTEXTS };

static uint64_t random_state;
static struct {
    ucontext_t main, task[TASKS];
    bool ended[TASKS];
    int running;       /* the task */
    bool in_interrupt; /* of it */
    bool locked;
    uint64_t switches, interrupts, busy, full, failed, taken;
} world;
static struct fp_cursor cursors[CONTEXTS];

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) image_byte((uint32_t)(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_FAILS() (random_below(&random_state, 8) == 0)
#include "../pager/emulated/chip.h"

/* No switch from here on. The compiler moves no access to memory before it. */
static void stop_switches(void)
{
    accesses_left = UINT32_MAX;
    COMPILER_BARRIER();
}

static void next_switch(void)
{
    COMPILER_BARRIER();
    accesses_left = 1 + random_below(&random_state, random_below(&random_state, 4) ? 400 : 20);
}

/* The other task goes on, if it has not ended. */
static void yield(void)
{
    const int from = world.running, to = 1 - from;
    stop_switches();
    if (!world.ended[to]) {
        world.switches++;
        world.running = to;
        EXPECT(!swapcontext(&world.task[from], &world.task[to]));
    }
    next_switch();
}

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES && error < 0);
    world.failed++;
    if (!world.in_interrupt && world.running != MAIN)
        yield();
    return random_below(&random_state, 2) ? error : 0;
}

#if FP_PAGER_LOCK
FP_PAGER_API int fp_flash_lock(void)
{
    if (world.in_interrupt && world.locked)
        return FP_PAGER_BUSY;
    stop_switches(); /* a lock is taken in one instruction */
    while (world.locked) {
        yield();
        stop_switches();
    }
    world.locked = true;
    if (!world.in_interrupt && world.running != MAIN)
        next_switch();
    return FP_PAGER_OK;
}

FP_PAGER_API void fp_flash_unlock(void)
{
    EXPECT(world.locked);
    world.locked = false;
}
#endif

/* An error is an allowed one. */
static void check_error(int error)
{
    world.busy += error == FP_PAGER_BUSY;
    world.full += error == FP_PAGER_FULL;
    EXPECT(error == FP_PAGER_BUSY || error == FP_PAGER_IO || error == FP_PAGER_FULL);
    EXPECT(error != FP_PAGER_FULL || FP_PAGER_WINDOWS < CONTEXTS);
#if FP_PAGER_LOCK
    EXPECT(error != FP_PAGER_BUSY || world.in_interrupt);
#endif
}

/* One operation of a context: bytes of its cursor, a read, or a close. */
static void operate(struct fp_cursor *cursor)
{
    const uint32_t offset = random_below(&random_state, FP_PAGER_IMAGE_BYTES - 40);
    const uint32_t size = 1 + random_below(&random_state, 40), kind = random_below(&random_state, 8);
    uint8_t bytes[40];
    if (kind < 2) {
        const int error = fp_pager_read(offset, bytes, size);
        if (error)
            check_error(error);
        for (uint32_t i = 0; !error && i < size; i++)
            EXPECT_EQ(bytes[i], image_byte(offset + i));
        return;
    }
    if (kind == 2)
        fp_cursor_close(cursor);
    if (kind > 4)
        fp_cursor_jump(cursor, offset);
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t at = (uint32_t)fp_cursor_tell(cursor);
        int byte;
        if (at >= FP_PAGER_IMAGE_BYTES)
            break;
        byte = fp_cursor_byte(cursor);
        if (byte < 0) {
            check_error(byte);
            EXPECT_EQ(fp_cursor_tell(cursor), at);
            break;
        }
        world.taken++;
        EXPECT_EQ(byte, image_byte(at));
        EXPECT_EQ(fp_cursor_tell(cursor), at + 1);
    }
}

static void interrupt_or_switch(void)
{
    stop_switches();
    if (random_below(&random_state, 3)) {
        yield();
        return;
    }
    world.in_interrupt = true;
    world.interrupts++;
    operate(&cursors[HANDLER]);
    world.in_interrupt = false;
    next_switch();
}

static void run_task(void)
{
    for (;;) {
        const int self = world.running;
        next_switch();
        for (uint32_t i = 1 + random_below(&random_state, 6); i > 0; i--)
            operate(&cursors[self]);
        stop_switches();
        world.ended[self] = true;
        if (!world.ended[1 - self]) {
            world.running = 1 - self;
            EXPECT(!swapcontext(&world.task[self], &world.task[1 - self]));
        } else {
            EXPECT(!swapcontext(&world.task[self], &world.main));
        }
    }
}

static void random_schedules(void)
{
    static char stacks[TASKS][1 << 16];
    const uint32_t rounds = test_rounds(TASK_SCHEDULES);
    accesses_end = interrupt_or_switch;
    for (int i = 0; i < TASKS; i++) {
        EXPECT(!getcontext(&world.task[i]));
        world.task[i].uc_stack.ss_sp = stacks[i];
        world.task[i].uc_stack.ss_size = sizeof(stacks[i]);
        makecontext(&world.task[i], run_task, 0);
    }
    for (uint32_t seed = test_first(); seed < test_first() + rounds; seed++) {
        /* The seed alone repeats a schedule. */
        random_state = seed;
        test_at("FLASHPAGER_TEST_SEED=%u", seed);
        /* The start takes the lock, too, and nothing else runs then. */
        world.running = MAIN;
        chip_reset();
        while (fp_pager_start())
            EXPECT(FP_PAGER_PINNED_PAGES > 0);
        memset(cursors, 0, sizeof(cursors));
        world.ended[0] = world.ended[1] = world.locked = world.in_interrupt = false;
        world.running = (int)(seed & 1);
        EXPECT(!swapcontext(&world.main, &world.task[world.running]));
        stop_switches();
        EXPECT(world.ended[0] && world.ended[1] && !pager.serving && !world.locked);
        for (int i = 0; i < CONTEXTS; i++)
            fp_cursor_close(&cursors[i]);
        for (int i = 0; i < FP_PAGER_WINDOWS; i++)
            EXPECT_EQ(pager.window[i], FREE_WINDOW);
    }
    if (rounds > 1000) {
        EXPECT(world.switches > rounds && world.interrupts > rounds / 4 && world.taken > rounds);
        EXPECT(world.busy > 0 && world.failed > 0 && (world.full > 0) == (FP_PAGER_WINDOWS < CONTEXTS));
    }
}
