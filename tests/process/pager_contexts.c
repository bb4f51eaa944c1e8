/*
 * The pager on a Cortex-M3 with a handler that calls it, too
 *
 * SysTick interrupts the program anywhere, and a port function has PendSV interrupt a load. The handler takes
 * bytes and counts how often the pager refused it. Every byte that either gets is compared.
 */
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 2048
#define FP_PAGER_IMAGE_BYTES 15498
#define FP_PAGER_API static __attribute__((unused))
#include "pager.c"

#define INTERRUPTS 20000
#define MOST_TICKS 40
#define SYST_CSR (*(volatile uint32_t *)0xe000e010)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018)
#define ICSR (*(volatile uint32_t *)0xe000ed04)
#define PENDSVSET (1u << 28)

extern uint32_t bss_start[], bss_end[], stack_top[];

static volatile uint32_t interrupts, wrong, refused_program, refused_handler, taken_handler, others;
static struct fp_cursor of_program, of_handler;
static uint32_t held, column;
/* The states of the generators: of the program, the handler and the chip. */
static uint32_t random_program, random_handler, random_chip;

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % bound;
}

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * 2654435761u) >> 24);
}

void fp_flash_load(fp_flash_page page, uint_fast16_t from)
{
    held = page;
    column = from;
}

int fp_flash_wait(void)
{
    return FP_PAGER_OK;
}

void fp_flash_column(uint_fast16_t to)
{
    column = to;
}

int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    for (uint_fast16_t i = 0; i < size; i++)
        to[i] = image_byte(held * FP_PAGER_FLASH_PAGE_BYTES + column++);
    if (below(&random_chip, 2))
        ICSR = PENDSVSET;
    return FP_PAGER_OK;
}

int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

/* Reads once, and takes bytes by the cursor. Counts refusals and bytes. */
static void take(struct fp_cursor *cursor, uint32_t *random, volatile uint32_t *refused,
                 volatile uint32_t *taken)
{
    const uint32_t offset = below(random, FP_PAGER_IMAGE_BYTES - 100), size = 1 + below(random, 90);
    uint8_t bytes[90];
    int error = fp_pager_read(offset, bytes, size);
    *refused += error == FP_PAGER_BUSY;
    others += error != 0 && error != FP_PAGER_BUSY;
    for (uint32_t i = 0; !error && i < size; i++, ++*taken)
        wrong += bytes[i] != image_byte(offset + i);
    if (below(random, 2))
        fp_cursor_jump(cursor, below(random, FP_PAGER_IMAGE_BYTES - 100));
    for (uint32_t i = 0; i < size && fp_cursor_tell(cursor) < FP_PAGER_IMAGE_BYTES; i++) {
        const uint32_t at = fp_cursor_tell(cursor);
        const int byte = fp_cursor_byte(cursor);
        if (byte < 0) {
            *refused += byte == FP_PAGER_BUSY;
            others += byte != FP_PAGER_BUSY || fp_cursor_tell(cursor) != at;
            return;
        }
        wrong += byte != image_byte(at);
        ++*taken;
    }
}

static void handle(void)
{
    interrupts++;
    take(&of_handler, &random_handler, &refused_handler, &taken_handler);
    SYST_RVR = 1 + below(&random_handler, MOST_TICKS);
    SYST_CVR = 0;
}

static int semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int)r0;
}

static void print(const char *name, uint32_t value)
{
    char digits[12] = {0};
    unsigned at = sizeof(digits) - 2;
    digits[at] = '\n';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    semihost(4, name);
    semihost(4, " ");
    semihost(4, digits + at);
}

_Noreturn static void leave(void)
{
    for (;;)
        semihost(0x18, (const void *)0x20026);
}

_Noreturn static void fault(void)
{
    print("fault", 1);
    leave();
}

_Noreturn void reset(void)
{
    static volatile uint32_t taken;
    for (uint32_t *at = bss_start; at < bss_end; at++)
        *at = 0;
    random_program = 1;
    random_handler = 2;
    random_chip = 3;
    if (fp_pager_start())
        fault();
    SYST_RVR = MOST_TICKS;
    SYST_CSR = 7;
    while (interrupts < INTERRUPTS)
        take(&of_program, &random_program, &refused_program, &taken);
    SYST_CSR = 0;
    print("wrong", wrong);
    print("others", others);
    print("taken_program", taken);
    print("taken_handler", taken_handler);
    print("refused_program", refused_program);
    print("refused_handler", refused_handler);
    leave();
}

struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top,
    {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, handle, handle},
};
