/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * AArch64. Encodings are those of the Arm Architecture Reference Manual, C4.1.
 */
#ifdef __aarch64__
#define _GNU_SOURCE
#include "machine.h"

#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define ZERO_OR_SP 31u
#define SOFTWARE_STEP (UINT64_C(1) << 21) /* SS in PSTATE */

const char machine_name[] = "aarch64";

static uint32_t word_of(const struct instruction *instruction)
{
    uint32_t word;
    memcpy(&word, instruction->code, sizeof word);
    return word;
}

void decode(struct instruction *instruction, size_t available)
{
    instruction->kind = ORDINARY;
    instruction->bytes = 0;
    if (available < 4 || instruction->address % 4 != 0) {
        return;
    }
    instruction->bytes = 4;
    uint32_t word = word_of(instruction);
    if ((word & 0xffe0001f) == 0xd4000001) {
        instruction->kind = SYSTEM_CALL; /* svc */
    } else if ((word & 0xffe0001f) == 0xd4200000) {
        instruction->kind = TRAPS; /* brk */
    } else if ((word & 0x7c000000) == 0x14000000 || (word & 0xfe000000) == 0x54000000 ||
               (word & 0x7c000000) == 0x34000000 || (word & 0xfe000000) == 0xd6000000) {
        instruction->kind = BRANCH; /* b, bl; b.cond; cbz to tbnz; br, blr, ret */
    } else if ((word & 0x3f800000) == 0x08000000 && ((word & 0x00200000) == 0 || word >> 31)) {
        /* The encoding of compare-and-swap pair is that of narrow pairs. */
        instruction->kind = word & 0x00400000 ? LOADS_EXCLUSIVE : STORES_EXCLUSIVE;
    }
}

bool read_registers(pid_t thread, registers *into)
{
    struct iovec vector = { into, sizeof *into };
    return ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &vector) == 0;
}

bool write_registers(pid_t thread, const registers *from)
{
    registers copy = *from;
    struct iovec vector = { &copy, sizeof copy };
    return ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &vector) == 0;
}

uint64_t program_counter(const registers *regs)
{
    return regs->pc;
}

uint64_t system_call_number(const registers *regs)
{
    return regs->regs[8];
}

uint64_t system_call_argument(const registers *regs, int index)
{
    return regs->regs[index];
}

int64_t system_call_result(const registers *regs)
{
    return (int64_t)regs->regs[0];
}

bool steps_itself(const registers *regs)
{
    (void)regs;
    return false; /* only a kernel can set the step bit */
}

uint64_t fetches(const struct instruction *instruction, const registers *before,
                 const registers *after)
{
    (void)instruction;
    (void)before;
    (void)after;
    return 1;
}

void hide_step_in_flags(const registers *after, int memory)
{
    /* No instruction reads the step bit. */
    (void)after;
    (void)memory;
}

void hide_step_in_frame(const registers *entry, int memory)
{
    /* At the stack pointer is a siginfo, followed by the context. */
    off_t at = (off_t)(entry->sp + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.pstate));
    uint64_t state;
    if (pread(memory, &state, sizeof state, at) == (ssize_t)sizeof state &&
        (state & SOFTWARE_STEP) != 0) {
        state &= ~SOFTWARE_STEP;
        (void)!pwrite(memory, &state, sizeof state, at);
    }
}

/* The fields of an exclusive load or store. */
struct exclusive {
    uint64_t address;
    uint32_t bytes; /* of both registers of a pair */
    unsigned int status, first, second; /* numbers of registers */
    bool is_pair;
};

static struct exclusive fields(const struct instruction *instruction, const registers *regs)
{
    uint32_t word = word_of(instruction);
    unsigned int base = word >> 5 & 31;
    struct exclusive it = {
        .address = base == ZERO_OR_SP ? regs->sp : regs->regs[base],
        .is_pair = (word & 0x00200000) != 0,
        .status = word >> 16 & 31,
        .first = word & 31,
        .second = word >> 10 & 31,
    };
    it.bytes = (1u << (word >> 30)) * (it.is_pair ? 2 : 1);
    return it;
}

static bool read_memory(pid_t thread, uint64_t address, void *into, size_t bytes)
{
    struct iovec here = { into, bytes }, there = { (void *)(uintptr_t)address, bytes };
    return process_vm_readv(thread, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool write_memory(pid_t thread, uint64_t address, const void *from, size_t bytes)
{
    unsigned char copy[16];
    memcpy(copy, from, bytes);
    struct iovec here = { copy, bytes }, there = { (void *)(uintptr_t)address, bytes };
    return process_vm_writev(thread, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static void put_register(unsigned char *into, const registers *regs, unsigned int number,
                         size_t bytes)
{
    uint64_t value = number == ZERO_OR_SP ? 0 : regs->regs[number];
    memcpy(into, &value, bytes); /* little-endian */
}

struct monitor monitor_of_load(pid_t thread, const struct instruction *instruction,
                       const registers *before, const registers *after)
{
    struct exclusive load = fields(instruction, before);
    struct monitor monitor = { load.address, load.bytes, { 0 } };
    size_t one = load.is_pair ? load.bytes / 2 : load.bytes;
    bool is_lost = load.first == ZERO_OR_SP || (load.is_pair && load.second == ZERO_OR_SP);
    if (is_lost) {
        if (!read_memory(thread, load.address, monitor.value, load.bytes)) {
            monitor.bytes = 0;
        }
        return monitor;
    }
    put_register(monitor.value, after, load.first, one);
    if (load.is_pair) {
        put_register(monitor.value + one, after, load.second, one);
    }
    return monitor;
}

/* Executes an exclusive store. The processor clears its monitor whenever a step returns from the
 * kernel, so a step between an exclusive load and its store would always make the store fail. As in
 * QEMU, the store succeeds here if memory still holds the loaded value. An unrecorded process that
 * shares this memory might write between the comparison and the store. */
bool store_exclusive(pid_t thread, const struct instruction *instruction, registers *regs,
                     const struct monitor *monitor)
{
    struct exclusive store = fields(instruction, regs);
    unsigned char current[16], value[16];
    if (store.address % store.bytes != 0 ||
        !read_memory(thread, store.address, current, store.bytes)) {
        return false;
    }
    bool holds = monitor->bytes == store.bytes && monitor->address == store.address &&
                 memcmp(current, monitor->value, store.bytes) == 0;
    if (holds) {
        size_t one = store.is_pair ? store.bytes / 2 : store.bytes;
        put_register(value, regs, store.first, one);
        if (store.is_pair) {
            put_register(value + one, regs, store.second, one);
        }
        if (!write_memory(thread, store.address, value, store.bytes)) {
            return false;
        }
    }
    if (store.status != ZERO_OR_SP) {
        regs->regs[store.status] = holds ? 0 : 1;
    }
    regs->pc += 4;
    return write_registers(thread, regs);
}
#else
typedef int not_this_processor;
#endif
