/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * x86-64: 64-bit code. Lengths follow the opcode maps of Intel's manual, volume 2, appendix A, and
 * AMD's, volume 3 (XOP, 3DNow!). */
#ifdef __x86_64__
#define _GNU_SOURCE
#include "machine.h"

#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define TRAP_FLAG UINT64_C(0x100) /* TF */

const char machine_name[] = "x86_64";

/* The position of decoding. */
struct code {
    const unsigned char *bytes;
    size_t at;
    size_t available;
    bool is_cut; /* the code ends before the instruction does */
};

static unsigned int take(struct code *code)
{
    if (code->at >= code->available) {
        code->is_cut = true;
        code->at++;
        return 0;
    }
    return code->bytes[code->at++];
}

struct prefixes {
    bool operand_size;
    bool address_size;
    bool wide; /* REX.W */
    unsigned int repeat; /* F2, F3, or 0 */
};

/* Takes a ModRM byte, and the SIB byte and displacement that it asks for. */
static unsigned int take_modrm(struct code *code)
{
    unsigned int modrm = take(code), mode = modrm >> 6, base = modrm & 7;
    if (mode == 3) {
        return modrm;
    }
    if (base == 4) {
        base = take(code) & 7; /* the base of the SIB byte */
    }
    if (mode == 1) {
        code->at += 1;
    } else if (mode == 2 || base == 5) {
        code->at += 4;
    }
    return modrm;
}

static enum instruction_kind take_plain(struct code *code, unsigned int opcode,
                                        const struct prefixes *prefix)
{
    size_t full = prefix->operand_size && !prefix->wide ? 2 : 4;
    if (opcode < 0x40) {
        switch (opcode & 7) {
        case 4: code->at += 1; break;
        case 5: code->at += full; break;
        case 6: case 7: break;
        default: take_modrm(code);
        }
        return ORDINARY;
    }
    if (opcode >= 0x70 && opcode <= 0x7f) {
        code->at += 1;
        return BRANCH;
    }
    unsigned int modrm;
    switch (opcode) {
    case 0x63: case 0x84: case 0x85: case 0x86: case 0x87: case 0x88: case 0x89: case 0x8a:
    case 0x8b: case 0x8c: case 0x8d: case 0x8f: case 0xd0: case 0xd1: case 0xd2: case 0xd3:
    case 0xd8: case 0xd9: case 0xda: case 0xdb: case 0xdc: case 0xdd: case 0xde: case 0xdf:
    case 0xfe:
        take_modrm(code);
        return ORDINARY;
    case 0x8e:
        modrm = take_modrm(code);
        return (modrm >> 3 & 7) == 2 ? SHADOWS : ORDINARY; /* mov to ss */
    case 0x68: case 0xa9:
        code->at += full;
        return ORDINARY;
    case 0x69: case 0x81:
        take_modrm(code);
        code->at += full;
        return ORDINARY;
    case 0xc7:
        modrm = take_modrm(code);
        code->at += full;
        return modrm == 0xf8 ? BRANCH : ORDINARY; /* xbegin */
    case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1:
        take_modrm(code);
        code->at += 1;
        return ORDINARY;
    case 0xc6:
        modrm = take_modrm(code);
        code->at += 1;
        return modrm == 0xf8 ? BRANCH : ORDINARY; /* xabort */
    case 0x6a: case 0xa8: case 0xe4: case 0xe5: case 0xe6: case 0xe7:
    case 0xb0: case 0xb1: case 0xb2: case 0xb3: case 0xb4: case 0xb5: case 0xb6: case 0xb7:
        code->at += 1;
        return ORDINARY;
    case 0xb8: case 0xb9: case 0xba: case 0xbb: case 0xbc: case 0xbd: case 0xbe: case 0xbf:
        code->at += prefix->wide ? 8 : full;
        return ORDINARY;
    case 0xa0: case 0xa1: case 0xa2: case 0xa3:
        code->at += prefix->address_size ? 4 : 8;
        return ORDINARY;
    case 0x6c: case 0x6d: case 0x6e: case 0x6f: case 0xa4: case 0xa5: case 0xa6: case 0xa7:
    case 0xaa: case 0xab: case 0xac: case 0xad: case 0xae: case 0xaf:
        return prefix->repeat ? REPEATED : ORDINARY;
    case 0x9c:
        return PUSHES_FLAGS;
    case 0x9d: case 0xcf: /* popf, iret */
        return POPS_FLAGS;
    case 0xc2: case 0xca:
        code->at += 2;
        return BRANCH;
    case 0xc8: /* enter */
        code->at += 3;
        return ORDINARY;
    case 0xcc: case 0xf1: /* int3, int1 */
        return TRAPS;
    case 0xcd: {
        unsigned int vector = take(code);
        return vector == 0x80 ? SYSTEM_CALL : vector == 3 ? TRAPS : BRANCH;
    }
    case 0xc3: case 0xcb:
        return BRANCH;
    case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xeb:
        code->at += 1;
        return BRANCH;
    case 0xe8: case 0xe9: /* 32 bits with any prefix, as on Intel's processors */
        code->at += 4;
        return BRANCH;
    case 0xf6: case 0xf7:
        modrm = take_modrm(code);
        if ((modrm >> 3 & 7) < 2) {
            code->at += opcode == 0xf6 ? 1 : full;
        }
        return ORDINARY;
    case 0xff:
        modrm = take_modrm(code) >> 3 & 7;
        return modrm >= 2 && modrm <= 5 ? BRANCH : ORDINARY;
    default:
        return ORDINARY;
    }
}

static enum instruction_kind take_0f(struct code *code, unsigned int opcode,
                                     const struct prefixes *prefix)
{
    if (opcode >= 0x80 && opcode <= 0x8f) {
        code->at += 4;
        return BRANCH;
    }
    switch (opcode) {
    case 0x05: case 0x34: /* syscall, sysenter */
        return SYSTEM_CALL;
    case 0x04: case 0x06: case 0x07: case 0x08: case 0x09: case 0x0a: case 0x0b: case 0x0c:
    case 0x0e: case 0x30: case 0x31: case 0x32: case 0x33: case 0x35: case 0x36: case 0x37:
    case 0x77: case 0xa0: case 0xa1: case 0xa2: case 0xa8: case 0xa9: case 0xaa:
    case 0xc8: case 0xc9: case 0xca: case 0xcb: case 0xcc: case 0xcd: case 0xce: case 0xcf:
        return ORDINARY;
    case 0x38:
        take(code);
        take_modrm(code);
        return ORDINARY;
    case 0x3a:
        take(code);
        take_modrm(code);
        code->at += 1;
        return ORDINARY;
    case 0x0f: case 0x70: case 0x71: case 0x72: case 0x73: case 0xa4: case 0xac: case 0xba:
    case 0xc2: case 0xc4: case 0xc5: case 0xc6:
        take_modrm(code);
        code->at += 1;
        return ORDINARY;
    case 0x78: /* extrq, insertq */
        take_modrm(code);
        code->at += prefix->operand_size || prefix->repeat == 0xf2 ? 2 : 0;
        return ORDINARY;
    default:
        take_modrm(code);
        return ORDINARY;
    }
}

/* Decodes what follows a VEX or EVEX prefix. */
static void take_vector(struct code *code, unsigned int map)
{
    unsigned int opcode = take(code);
    if (map == 1 && opcode == 0x77) {
        return; /* vzeroupper, vzeroall */
    }
    take_modrm(code);
    bool has_selector = opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
    if (map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || has_selector))) {
        code->at += 1;
    } else if (map == 7) {
        code->at += 4;
    }
}

void decode(struct instruction *instruction, size_t available)
{
    struct code code = { instruction->code, 0, available, false };
    struct prefixes prefix = { 0 };
    unsigned int byte;
    for (;;) {
        byte = take(&code);
        if (byte == 0x66) {
            prefix.operand_size = true;
        } else if (byte == 0x67) {
            prefix.address_size = true;
        } else if (byte == 0xf2 || byte == 0xf3) {
            prefix.repeat = byte;
        } else if (byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 &&
                   byte != 0x65 && byte != 0xf0 && (byte & 0xf0) != 0x40) {
            break;
        }
        /* A REX prefix counts only right before the opcode. */
        prefix.wide = (byte & 0xf8) == 0x48;
        if (code.is_cut) {
            break;
        }
    }
    enum instruction_kind kind = ORDINARY;
    if (byte == 0xc5) {
        take(&code);
        take_vector(&code, 1);
    } else if (byte == 0xc4) {
        unsigned int map = take(&code) & 0x1f;
        take(&code);
        take_vector(&code, map);
    } else if (byte == 0x62) {
        unsigned int map = take(&code) & 7;
        code.at += 2;
        take_vector(&code, map);
    } else if (byte == 0x8f && code.at < available && (code.bytes[code.at] & 0x1f) >= 8) {
        unsigned int map = take(&code) & 0x1f; /* XOP */
        code.at += 2;
        take_modrm(&code);
        code.at += map == 8 ? 1 : map == 10 ? 4 : 0;
    } else if (byte == 0x0f) {
        kind = take_0f(&code, take(&code), &prefix);
    } else {
        kind = take_plain(&code, byte, &prefix);
    }
    bool is_whole = !code.is_cut && code.at <= available;
    instruction->bytes = is_whole ? (uint32_t)code.at : 0;
    instruction->kind = is_whole ? kind : ORDINARY;
}

bool read_registers(pid_t thread, registers *into)
{
    return ptrace(PTRACE_GETREGS, thread, NULL, into) == 0;
}

bool write_registers(pid_t thread, const registers *from)
{
    return ptrace(PTRACE_SETREGS, thread, NULL, from) == 0;
}

uint64_t program_counter(const registers *regs)
{
    return regs->rip;
}

uint64_t system_call_number(const registers *regs)
{
    return regs->orig_rax;
}

uint64_t system_call_argument(const registers *regs, int index)
{
    const uint64_t arguments[] = { regs->rdi, regs->rsi, regs->rdx };
    return arguments[index];
}

int64_t system_call_result(const registers *regs)
{
    return (int64_t)regs->rax;
}

bool steps_itself(const registers *regs)
{
    /* The kernel hides the flag if only the stepper has set it. */
    return (regs->eflags & TRAP_FLAG) != 0;
}

/* Each iteration of a repeated instruction fetches it, and the processor stops after each. */
uint64_t fetches(const struct instruction *instruction, const registers *before,
                 const registers *after)
{
    if (instruction->kind != REPEATED) {
        return 1;
    }
    bool is_narrow = memchr(instruction->code, 0x67, instruction->bytes - 1) != NULL;
    uint64_t mask = is_narrow ? UINT32_MAX : UINT64_MAX;
    uint64_t iterations = (before->rcx & mask) - (after->rcx & mask);
    return iterations > 0 ? iterations : 1;
}

void hide_step_in_flags(const registers *after, int memory)
{
    unsigned char high;
    off_t at = (off_t)(after->rsp + 1);
    if (pread(memory, &high, 1, at) == 1 && (high & TRAP_FLAG >> 8) != 0) {
        high &= (unsigned char)~(TRAP_FLAG >> 8);
        (void)!pwrite(memory, &high, 1, at);
    }
}

void hide_step_in_frame(const registers *entry, int memory)
{
    /* The kernel does it itself. */
    (void)entry;
    (void)memory;
}

struct monitor monitor_of_load(pid_t thread, const struct instruction *instruction,
                       const registers *before, const registers *after)
{
    (void)thread;
    (void)instruction;
    (void)before;
    (void)after;
    return (struct monitor){ 0 };
}

bool store_exclusive(pid_t thread, const struct instruction *instruction, registers *regs,
                     const struct monitor *monitor)
{
    (void)thread;
    (void)instruction;
    (void)regs;
    (void)monitor;
    return false;
}
#else
typedef int not_this_processor;
#endif
