/*
 * A timer that interrupts a Versatile PB each FP_VERIFY_INTERRUPTS µs, for the file that includes the
 * pager
 *
 * The program runs with interrupts on, the handler with interrupts off: an interrupt that comes while a
 * fault is served has to wait. The machine stops if one did not wait, and at the end if none ever had to.
 */
#ifndef FLASHPAGER_VERSATILEPB_INTERRUPTS_H
#define FLASHPAGER_VERSATILEPB_INTERRUPTS_H

#include <stdint.h>

#define TIMER(offset) (*(volatile uint32_t *)(0x101e2000u + (offset)))
#define INTERRUPTS(offset) (*(volatile uint32_t *)(0x10140000u + (offset)))
#define OF_TIMER (1u << 4)

static uint32_t interrupts, had_to_wait;

#define FP_PAGER_JOB_DONE(job) (had_to_wait += INTERRUPTS(0x08) & OF_TIMER)

_Noreturn static void stop(const char *message);

static void interrupts_start(void)
{
    TIMER(0x00) = FP_VERIFY_INTERRUPTS;
    /* On, periodic, with an interrupt, of 32 bits. */
    TIMER(0x08) = 0xe2;
    INTERRUPTS(0x10) = OF_TIMER;
}

__attribute__((used)) static void interrupted(uint32_t status)
{
    TIMER(0x0c) = 1;
    interrupts++;
    if ((status & 0x1fu) != 0x10u)
        stop("an interrupt inside the handler");
}

static void interrupts_end(void)
{
    if (!interrupts || !had_to_wait)
        stop("no interrupt that had to wait for the handler");
}

__asm__(".text\n"
        ".arm\n"
        "interrupt:\n"
        "    sub lr, lr, #4\n"
        "    push {r0-r3, r12, lr}\n"
        "    mrs r0, spsr\n"
        "    bl interrupted\n"
        "    ldm sp!, {r0-r3, r12, pc}^\n");

#endif
