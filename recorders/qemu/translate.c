/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "plugin.h"

#include <stdlib.h>

static bool watched_reads_are_placed;
static bool start_is_reported; /* the stream has the META record start_code */

/* Lets QEMU report the data reads of an instruction. `begun` is the block's counter at its end. */
static void watch_reads(struct qemu_plugin_insn *instruction, uint64_t begun)
{
    if (watched_reads.count > 0) {
        /* QEMU 7.2 reports nothing if only loads are requested. */
        qemu_plugin_register_vcpu_mem_cb(instruction, on_read, QEMU_PLUGIN_CB_NO_REGS,
                                         api_version < 2 ? QEMU_PLUGIN_MEM_RW : QEMU_PLUGIN_MEM_R,
                                         (void *)(uintptr_t)begun);
    }
}

/* Moves the watched ranges from the program's linked addresses to those at which it runs. */
static void place_watched_reads(void)
{
    uint64_t bias = linked_code == NEVER ? 0 : qemu_plugin_start_code() - linked_code;
    watched_reads_span = (struct range){ UINT64_MAX, 0 };
    for (size_t i = 0; i < watched_reads.count; i++) {
        struct range *range = &watched_reads.items[i];
        range->start += bias;
        range->end += bias;
        if (range->start < watched_reads_span.start) {
            watched_reads_span.start = range->start;
        }
        if (range->end > watched_reads_span.end) {
            watched_reads_span.end = range->end;
        }
    }
    watched_reads_are_placed = true;
}

/* Lets QEMU count an instruction with this number of bytes. */
static void count_instruction(struct qemu_plugin_insn *instruction, size_t bytes)
{
    uint64_t amount = ONE_INSTRUCTION + bytes;
    if (counters != NULL) {
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
            instruction, QEMU_PLUGIN_INLINE_ADD_U64, (qemu_plugin_u64){ counters, 0 }, amount);
    } else if (!several_processors && qemu_plugin_register_vcpu_insn_exec_inline != NULL) {
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64,
                                                   &running[0].begun, amount);
    } else {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_instruction,
                                               QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)amount);
    }
}

/* Copies the first bytes of an instruction, at most `most`. Returns the number of bytes copied. */
static size_t first_bytes(const struct qemu_plugin_insn *instruction, unsigned char *bytes,
                          size_t most)
{
    size_t length = qemu_plugin_insn_size(instruction);
    if (length > most) {
        length = most;
    }
    void (*data)(void) = qemu_plugin_insn_data;
    if (api_version >= 3) {
        return ((qemu_plugin_insn_copy_t)data)(instruction, bytes, length);
    }
    memcpy(bytes, ((qemu_plugin_insn_look_t)data)(instruction), length);
    return length;
}

/* Returns true if one of a block's first instructions cannot be Thumb code: the block is ARM. */
static bool is_arm(const struct qemu_plugin_tb *tb, size_t instructions)
{
    for (size_t i = 0; i < instructions; i++) {
        unsigned char code[4] = { 0 };
        const struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_size(instruction) == 4 &&
            first_bytes(instruction, code, sizeof code) == 4 &&
            code[1] >> 3 < 0x1d) {
            return true;
        }
    }
    return false;
}

/* Fills in the fields of a block that depend on its last ARM or Thumb instruction. Returns the
 * length of that instruction. */
static size_t examine_arm(struct block *block, const struct qemu_plugin_insn *last,
                          const unsigned char *code, size_t reported, bool is_thumb)
{
    /* At a page's end, QEMU before 9.1 has read two bytes of the next Thumb instruction, and
     * reports them with the last. */
    bool wide = code[1] >> 3 >= 0x1d;
    block->may_return = true;
    if (reported > 4 || (reported == 4 && wide)) {
        return 4;
    }
    if (reported == 4 && is_thumb) {
        return 2;
    }
    block->maybe_short = reported == 4 && (qemu_plugin_insn_vaddr(last) + reported) % 1024 == 0;
    if ((code[3] & 0x0e) == 0x0a) { /* b, bl, blx */
        uint32_t words = code[0] | code[1] << 8 | (uint32_t)code[2] << 16;
        int64_t ahead = 4 * ((int64_t)(words ^ 0x800000) - 0x800000);
        bool is_blx = code[3] >> 4 == 0xf;
        block->leads_to = (qemu_plugin_insn_vaddr(last) + 8 + (uint64_t)ahead +
                           (is_blx && (code[3] & 1) ? 2 : 0)) & UINT32_MAX;
    }
    return reported;
}

/* Fills in the fields of a block that depend on its last x86 instruction. */
static void examine_x86(struct block *block, const unsigned char *code, size_t known)
{
    /* Prefixes. 0x40 to 0x4f are prefixes on x86-64 only: on i386 they are inc and dec, whose
     * single byte ends the instruction. */
    size_t at = 0;
    bool repeated = false;
    while (at < known && (strchr("\x66\x67\x2e\x36\x3e\x26\x64\x65\xf0\xf2\xf3", code[at]) ||
                          code[at] >> 4 == 4) && code[at] != 0) {
        repeated |= code[at] >> 1 == 0xf2 >> 1;
        at++;
    }
    unsigned char first = at < known ? code[at] : 0;
    unsigned char second = at + 1 < known ? code[at + 1] : 0;
    unsigned char kind = first & 0xfe;
    bool string = first >> 2 == 0x6c >> 2 || (first >= 0xa4 && first <= 0xaf && kind != 0xa8);
    bool stores = kind == 0x6c || kind == 0xa4 || kind == 0xaa;
    block->repeats = repeated && string;
    /* cmps reads two operands; ins first writes once to test whether it may write. */
    block->accesses = kind == 0xa6 || kind == 0x6c ? 2 : 1;
    block->may_return =
        (block->repeats && !stores) || first >> 4 == 7 || first >> 2 == 0xe0 >> 2 ||
        first >> 2 == 0xe8 >> 2 || kind == 0xc2 || kind == 0xca ||
        (first >= 0xcc && first <= 0xcf) || (first == 0x0f && second >> 4 == 8) ||
        (first == 0xff && (second >> 3 & 7) >= 2 && (second >> 3 & 7) <= 5); /* call, jmp */
}

/* Ends the recording with the reason, which the reader prints. */
static void refuse_length(uint64_t address)
{
    char text[160];
    snprintf(text, sizeof text, "qemu: the length of the instruction at 0x%llx is not known",
             (unsigned long long)address);
    acquire();
    stream_put_meta(&stream, "refused", text);
    stream_flush(&stream);
    release();
}

/* Returns the length of an instruction as QEMU reports it. For targets whose lengths QEMU 7.2 does
 * not report, the length follows from the first bytes in memory. Returns 0 for a call of a kernel
 * helper that QEMU executes itself, without any guest code. */
static size_t length_of(const struct qemu_plugin_insn *instruction)
{
    size_t reported = qemu_plugin_insn_size(instruction);
    if (reported != 0) {
        return reported;
    }
    if (target == WORDS) {
        return 4;
    }
    if (target != AVR && target != TRICORE) {
        return 0;
    }
    const unsigned char *code = qemu_plugin_insn_haddr(instruction);
    if (code == NULL) {
        refuse_length(qemu_plugin_insn_vaddr(instruction));
        return 2;
    }
    if (target == TRICORE) {
        return code[0] & 1 ? 4 : 2;
    }
    unsigned int word = code[0] | (unsigned int)code[1] << 8;
    bool jumps = (word & 0xfe0c) == 0x940c;  /* jmp, call */
    bool direct = (word & 0xfc0f) == 0x9000; /* lds, sts */
    return jumps || direct ? 4 : 2;
}

/* Fills in the fields of a block that depend on its last instruction. Returns the length of that
 * instruction. */
static size_t examine_last(struct block *block, struct qemu_plugin_insn *last, bool is_thumb)
{
    unsigned char code[16] = { 0 };
    size_t reported = length_of(last);
    size_t known = first_bytes(last, code, sizeof code);
    switch (target) {
    case ARM:
        return examine_arm(block, last, code, reported, is_thumb);
    case RISCV:
        /* QEMU may report bytes of the next instruction, as with Thumb. */
        block->may_return = true;
        return reported > 2 && (code[0] & 3) != 3 ? 2 : reported > 4 ? 4 : reported;
    case AARCH64:
        block->may_return = (code[3] >> 2 & 7) == 5;
        return reported;
    case X86:
        examine_x86(block, code, known);
        return reported;
    default:
        block->may_return = true;
        return reported;
    }
}

/* Writes the META record start_code once; it needs a running processor. */
static void report_start(void)
{
    if (!start_is_reported) {
        char text[32];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)qemu_plugin_start_code());
        stream_put_meta(&stream, "start_code", text);
        start_is_reported = true;
    }
}

/* Lets QEMU count a block's instructions and report its reads, and fills in the block. */
static void instrument(struct block *block, struct qemu_plugin_tb *tb)
{
    size_t instructions = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, instructions - 1);
    uint64_t address = block->address = qemu_plugin_tb_vaddr(tb);
    uint64_t at = address;
    bool is_thumb = address % 4 == 2;
    for (size_t i = 1; i < instructions; i++) {
        uint64_t next = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
        count_instruction(qemu_plugin_tb_get_insn(tb, i - 1), next - at);
        watch_reads(qemu_plugin_tb_get_insn(tb, i - 1), i * ONE_INSTRUCTION + (next - address));
        is_thumb |= next % 4 == 2;
        at = next;
    }
    size_t last_bytes = length_of(last);
    if (last_bytes == 0) {
        instructions--;
    } else {
        last_bytes = examine_last(block, last, is_thumb);
        block->last_bytes = (uint32_t)last_bytes;
        count_instruction(last, last_bytes);
        watch_reads(last, instructions * ONE_INSTRUCTION + (at + last_bytes - address));
    }
    block->whole = instructions * ONE_INSTRUCTION + (at + last_bytes - address);
    block->usual = block->repeats || block->maybe_short ? NEVER : block->whole;
    block->alone = instructions == 1;
    if (block->maybe_short && is_arm(tb, instructions - 1)) {
        block->maybe_short = false;
        block->usual = block->whole;
    }
    if (block->maybe_short || (counters != NULL && instructions > 1) ||
        (block->repeats && repeats_within)) {
        block->in_doubt = true;
    }
    if (block->repeats) {
        qemu_plugin_register_vcpu_mem_cb(last, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, block->may_return ? NULL : block);
    }
}

void on_block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    if (!stream.is_read || qemu_plugin_tb_n_insns(tb) == 0 ||
        block_count >= STREAM_RECORD_FLAG / 2) {
        return;
    }
    struct block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        out_of_memory();
    }
    if (!watched_reads_are_placed) {
        acquire();
        place_watched_reads();
        release();
    }
    instrument(block, tb);
    acquire();
    if (!system_emulation) {
        report_start();
        if (block->whole >= ONE_INSTRUCTION) {
            report_guest_files(block->address, qemu_plugin_tb_get_insn(tb, 0));
        }
    }
    block->number = describe_block(block->address, block->whole);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_executed, QEMU_PLUGIN_CB_NO_REGS, block);
    release();
}
