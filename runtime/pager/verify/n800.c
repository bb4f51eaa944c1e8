/*
 * The pager on a Nokia N800 with an ARM926EJ-S: as versatilepb.c, with a OneNAND and interrupts
 *
 * The image comes from the chip at 0x04000000. The program's code, which QEMU has loaded to RAM, is
 * destroyed before the program runs.
 *
 * QEMU's chip loads a page as soon as it has the command, so a timer models t_R: from the command until
 * GP timer 2 has counted once, the chip's interrupt register reads 0, and the interrupt controller holds
 * back the interrupt of its INT pin, which is bit 26 of GPIO 1. QEMU's timers count 32,768 times a
 * second, whatever their clock, so that a load takes 30.5 us.
 *
 * With FP_ONENAND_INTERRUPT the pager sleeps until the INT pin is high. GP timer 3 interrupts after
 * FP_VERIFY_TICK counts, whatever runs, to find a load that does not end.
 */
#include <stdint.h>

#define MACHINE_RAM 0x80000000u
#define MACHINE_IRQ "irq"

static uint16_t onenand_read(uint32_t word);
static void onenand_write(uint32_t word, uint16_t value);

#define FP_ONENAND_BASE 0x04000000ul
#define FP_ONENAND_READ(word) onenand_read(word)
#define FP_ONENAND_WRITE(word, value) onenand_write((word), (uint16_t)(value))

#include "versatilepb.c"

#include "../onenand/onenand.c"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define GPIO_1(offset) REGISTER(0x48018000u + (offset))
#define GPIO_STATUS 0x18u
#define GPIO_IN 0x38u
#define GPIO_RISING 0x48u
#define GPIO_ENABLE 0x64u
#define GPIO_ONENAND (1u << 26)
#define INTC(offset) REGISTER(0x480fe000u + (offset))
#define INTC_WHICH 0x40u
#define INTC_CONTROL 0x48u
#define INTC_CLEAR(line) INTC(0x88u + ((line) >> 5) * 0x20u) = 1u << ((line)&31u)
#define INTC_SET(line) INTC(0x8cu + ((line) >> 5) * 0x20u) = 1u << ((line)&31u)
#define LINE_GPIO_1 29u
#define LINE_TIMER_2 38u
#define LINE_TIMER_3 39u
#define TIMER_2(offset) REGISTER(0x4802a000u + (offset))
#define TIMER_3(offset) REGISTER(0x48078000u + (offset))
#define TIMER_STATUS 0x18u
#define TIMER_ENABLE 0x1cu
#define TIMER_CONTROL 0x24u
#define TIMER_COUNT 0x28u
#define TIMER_AGAIN 0x2cu
#define TIMER_OVERFLOW 2u
#define TIMER_STARTS 1u
#define TIMER_REPEATS 2u

/* The traffic on the bus, and the interrupts, with those in the handler of a fault. */
static struct {
    uint32_t loads, sector_loads, words;
    uint32_t done, ticks, in_handler;
} bus;
/* Ticks since the last load began. */
static volatile uint32_t waited;

static int is_loading(void)
{
    return TIMER_2(TIMER_CONTROL) & TIMER_STARTS;
}

static uint16_t onenand_read(uint32_t word)
{
    if (word < 0xc000u)
        bus.words++;
    else if (word == FP_ONENAND_INTERRUPTS && is_loading())
        return 0;
    return *(const volatile uint16_t *)(FP_ONENAND_BASE + 2 * word);
}

static inline void interrupts_on(void)
{
    uint32_t status;
    __asm__ volatile("mrs %0, cpsr\n\tbic %0, %0, #0x80\n\tmsr cpsr_c, %0"
                     : "=r"(status)
                     :
                     : "memory");
}

static void onenand_write(uint32_t word, uint16_t value)
{
    static uint16_t start_buffer;
    if (word == FP_ONENAND_START_BUFFER)
        start_buffer = value;
    if (word == FP_ONENAND_COMMAND && value == FP_ONENAND_LOAD) {
        if (start_buffer & (FP_ONENAND_SECTORS - 1u))
            bus.sector_loads++;
        else
            bus.loads++;
        INTC_SET(LINE_GPIO_1);
        TIMER_2(TIMER_COUNT) = UINT32_MAX;
        TIMER_2(TIMER_CONTROL) = TIMER_STARTS;
        waited = 0;
    }
    if (word == FP_ONENAND_COMMAND && value != FP_ONENAND_LOAD && value != FP_ONENAND_RESET)
        stop("a command that reads nothing from the OneNAND");
    *(volatile uint16_t *)(FP_ONENAND_BASE + 2 * word) = value;
#if FP_ONENAND_INTERRUPT
    if (word == FP_ONENAND_COMMAND && value == FP_ONENAND_LOAD)
        interrupts_on();
#endif
}

#if FP_ONENAND_INTERRUPT
#define TICKS_MOST 20u

FP_PAGER_API int fp_onenand_sleep(void)
{
    /* An interrupt that comes in between also wakes the processor, though interrupts are off. */
    __asm__ volatile("mrs r12, cpsr\n\torr r12, r12, #0x80\n\tmsr cpsr_c, r12"
                     :
                     :
                     : "r12", "memory");
    if (fp_onenand_ask() > 0)
        __asm__ volatile("mcr p15, 0, %0, c7, c0, 4" : : "r"(0) : "memory");
    interrupts_on();
    return waited < TICKS_MOST;
}
#endif

/* Handles an interrupt of a program with this status. */
__attribute__((used)) static void interrupted(uint32_t status)
{
    if ((status & 0x1fu) == 0x17u)
        bus.in_handler++;
    switch (INTC(INTC_WHICH) & 0x7fu) {
    case LINE_TIMER_2:
        TIMER_2(TIMER_STATUS) = TIMER_OVERFLOW;
        INTC_CLEAR(LINE_GPIO_1);
        break;
#if FP_ONENAND_INTERRUPT
    case LINE_GPIO_1:
        GPIO_1(GPIO_STATUS) = GPIO_ONENAND;
        bus.done++;
        fp_onenand_interrupt();
        break;
#endif
    case LINE_TIMER_3:
        TIMER_3(TIMER_STATUS) = TIMER_OVERFLOW;
        bus.ticks++;
        waited++;
        break;
    default:
        stop("an interrupt that is nobody's");
    }
    INTC(INTC_CONTROL) = 1;
}

__asm__(".text\n"
        ".arm\n"
        "irq:\n"
        "    sub lr, lr, #4\n"
        "    push {r0-r3, r12, lr}\n"
        "    mrs r0, spsr\n"
        "    bl interrupted\n"
        "    ldm sp!, {r0-r3, r12, pc}^\n");

#if !FP_ARM926_PAGES_READS
FP_PAGER_API int fp_flash_peek(fp_offset offset, uint8_t *to, uint_fast8_t size)
{
    const fp_offset from = offset & ~(fp_offset)1;
    const uint32_t words = bus.words;
    uint8_t bytes[4];
    literals++;
    if (fp_onenand_peek((uint32_t)from, bytes, size < 2 ? 2 : size))
        stop(machine_failure());
    bus.words = words;
    for (uint_fast8_t i = 0; i < size; i++)
        to[i] = bytes[offset - from + i];
    return FP_PAGER_OK;
}
#endif

static const char *machine_failure(void)
{
    switch (fp_onenand_why()) {
    case FP_ONENAND_SILENT:
        return "a page that fails: the OneNAND is not done in time";
    case FP_ONENAND_REFUSED:
        return "a page that fails: the OneNAND tells an error";
    case FP_ONENAND_BEYOND:
        return "a page that the OneNAND has not";
    case FP_ONENAND_ECC:
        return "a page that fails: too many wrong bits";
    case FP_ONENAND_OTHER:
        return "no OneNAND with such pages";
    default:
        return "a page that fails";
    }
}

static void machine_say(void)
{
    say("chip_loads", bus.loads);
    say("chip_bytes_fetched", 2 * bus.words);
    say("chip_sector_loads", bus.sector_loads);
    say("retries", fp_pager_stat()->retries);
    say("interrupts_done", bus.done);
    say("interrupts_ticks", bus.ticks);
    say("interrupts_in_handler", bus.in_handler);
}

static void machine_start(uint32_t *level_1)
{
    /* The vectors; the chip; GPIO, timers and the interrupt controller. */
    level_1[0] = SECTION(MACHINE_RAM >> 20);
    level_1[FP_ONENAND_BASE >> 20] = SECTION(FP_ONENAND_BASE >> 20);
    level_1[0x480] = SECTION(0x480u);
    for (uint32_t i = 0; i < FP_PAGER_IMAGE_BYTES / 4; i++)
        ((volatile uint32_t *)FP_ARM926_CODE)[i] = 0xe7f000f0u; /* undefined */
    if (fp_onenand_start())
        stop(machine_failure());
    bus.words = 0;
    TIMER_2(TIMER_ENABLE) = TIMER_OVERFLOW;
#if FP_ONENAND_INTERRUPT
    GPIO_1(GPIO_RISING) = GPIO_ONENAND;
    GPIO_1(GPIO_STATUS) = GPIO_ONENAND;
    GPIO_1(GPIO_ENABLE) = GPIO_ONENAND;
    INTC_CLEAR(LINE_TIMER_2);
    TIMER_3(TIMER_AGAIN) = TIMER_3(TIMER_COUNT) = -(uint32_t)FP_VERIFY_TICK;
    TIMER_3(TIMER_ENABLE) = TIMER_OVERFLOW;
    TIMER_3(TIMER_CONTROL) = TIMER_STARTS | TIMER_REPEATS;
    INTC_CLEAR(LINE_TIMER_3);
#endif
}
