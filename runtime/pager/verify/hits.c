/*
 * A program that measures the cost of a hit and of a byte
 *
 * It does the work WORK, one of the numbers below, TIMES times. benches/pager.py runs it with two values
 * of TIMES and takes the difference. No chip is emulated: the bytes in the cache have no meaning.
 */
#define FP_PAGER_CURSORS 1
#include "../flashpager_pager.h"

/* The values of WORK: a call of an empty function, a lookup of a page, a turn of a cursor to another
 * page, and READ_BYTES bytes that a cursor reads or that a plain loop counts. */
#define NOTHING 0
#define PAGE 1
#define TURN 2
#define BYTES 3
#define NO_BYTES 4

void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    (void)page;
    (void)column;
}

int fp_flash_wait(void)
{
    return 0;
}

int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    *to = (uint8_t)size;
    return 0;
}

void fp_flash_column(uint_fast16_t column)
{
    (void)column;
}

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

static volatile uint8_t sink;
static struct fp_cursor code;

__attribute__((noinline)) static const uint8_t *nothing(fp_page page)
{
    __asm__ volatile("" ::: "memory");
    (void)page;
    return NULL;
}

static void work(void)
{
    fp_pager_start();
    /* Fills the cache. It ends with the pages of the loop below, so that none of them is evicted. */
    for (fp_page page = FP_PAGER_FRAMES; page-- > 0;)
        fp_pager_page(page);
    for (uint16_t i = 0; i < TIMES; i++) {
#if WORK == NOTHING
        nothing(i & 3u);
#elif WORK == PAGE
        fp_pager_page(i & 3u);
#elif WORK == TURN
        code.next = (i & 3u) * FP_PAGER_PAGE_BYTES;
        fp_cursor_turn(&code);
#else
        /* READ_BYTES bytes of one page, by a cursor in registers. */
        struct fp_cursor cursor = code;
        cursor.next = 0;
        fp_cursor_turn(&cursor);
        for (uint8_t left = READ_BYTES; left > 0; left--)
#if WORK == BYTES
            sink = (uint8_t)fp_cursor_byte(&cursor);
#else
            sink = 0;
#endif
#endif
    }
}

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/sleep.h>

int main(void)
{
    work();
    cli();
    sleep_mode();
    return 0;
}
#else
extern uint32_t bss_start[], bss_end[], stack_top[];

_Noreturn void reset(void)
{
    register uint32_t r0 __asm__("r0") = 0x18;
    register uint32_t r1 __asm__("r1") = 0x20026;
    for (uint32_t *at = bss_start; at < bss_end; at++)
        *at = 0;
    work();
    r0 = 0x18;
    r1 = 0x20026;
    for (;;)
        __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top, {reset, reset, reset, reset}};
#endif
