/*
 * The MMU of an ARM926EJ-S for the pager: page tables, and the two aborts
 *
 * It has the page tables of ARMv4T and ARMv5, with one TLB for code and data. Pages have 1 KB (tiny pages,
 * in fine tables) or 4 KB (small pages, in coarse tables). Include it behind pager.c, or compile it with
 * the same design, which also defines:
 *
 *     #define FP_ARM926_CODE 0x00400000   // the address of the image, as the program sees it
 *
 * Then:
 *
 *     fp_pager_start();
 *     fp_arm926_start(level_1);           // your table: its entries for the code are written
 *
 * The vectors of the two aborts go to fp_arm926_prefetch_abort and fp_arm926_data_abort. In abort mode
 * both need a stack of about 300 bytes beside that of your port. Both run with interrupts off.
 *
 * Data. A program may write data behind the code, in the same megabyte: pages of those tables that do not
 * belong to the image are mapped to their own addresses.
 *
 * Reads. A literal in a page that is not mapped faults as data. The data abort reads it from the frame if
 * there is one, and otherwise from flash with fp_flash_peek(). Then it goes on behind the instruction:
 * ldr, ldrb, ldrh, ldrsb, ldrsh, ldrd and ldm in the ARM state, also into the program counter, and ldr,
 * ldrb, ldrh, ldrsb, ldrsh and ldmia in the Thumb state. Such a read is no reference, and no page comes
 * in. With
 *
 *     #define FP_ARM926_PAGES_READS 1
 *
 * it is a reference: the page comes in as for an instruction, and the data abort reads it from its frame.
 * The counts are then those of a trace with reads. The instruction is not tried again, so that its own
 * page and the page that it reads need not be mapped together.
 *
 * Critical block. With FP_PAGER_CRITICAL_BYTES of 1 or 2 KB and pages of 4 KB, the MMU has four pages of
 * 1 KB for each page.
 *
 * Caches. The code is mapped uncached, and each instruction comes from RAM: no pager would see a reference
 * that a cache serves. The write buffer is drained when a page is mapped. If the data cache is on, map the
 * pager's own memory uncached: its frames, as instructions are fetched past the cache, and its tables, as
 * the MMU walks them there.
 */
#include "../flashpager_pager.h"

#include <string.h>

#if FP_PAGER_PAGE_BYTES != 1024 && FP_PAGER_PAGE_BYTES != 4096
#error "an ARM926 has pages of 1 and 4 KB"
#endif
#ifndef FP_ARM926_PAGES_READS
#define FP_ARM926_PAGES_READS 0
#endif
#if FP_ARM926_CODE % FP_PAGER_PAGE_BYTES
#error "FP_ARM926_CODE must be the start of a page"
#endif

/* An attribute of functions with instructions that Thumb does not have. */
#ifdef __thumb__
#define IN_ARM_STATE __attribute__((target("arm"), noinline))
#else
#define IN_ARM_STATE
#endif

#define MEGABYTE 0x100000u
/* MAPPED_BYTES is the size that an entry maps, and PARTS the number of entries of a page. */
#if FP_PAGER_CRITICAL_BYTES
#if FP_PAGER_CRITICAL_BYTES < 1024
#error "an ARM926 has no pages below 1 KB: a smaller block cannot be mapped alone"
#endif
#define MAPPED_BYTES 1024u
#else
#define MAPPED_BYTES FP_PAGER_PAGE_BYTES
#endif
#define PARTS (FP_PAGER_PAGE_BYTES / MAPPED_BYTES)
/* The number of entries before the image in the first table. */
#define BEFORE (FP_ARM926_CODE % MEGABYTE / MAPPED_BYTES)
#define TABLES ((FP_ARM926_CODE % MEGABYTE + FP_PAGER_IMAGE_BYTES - 1u) / MEGABYTE + 1u)
#define TABLE_ENTRIES (MEGABYTE / MAPPED_BYTES)
/* Second-level entries: pages that the program may read and execute, and pages that all may write. An
 * entry whose last two bits are 0 faults; its other bits are then free, and hold the frame + 1. */
#if FP_PAGER_PAGE_BYTES == 1024 || FP_PAGER_CRITICAL_BYTES
#define LEVEL_1_TABLE 0x13u
#define READ_ONLY 0x23u
#define READ_WRITE 0x33u
#else
#define LEVEL_1_TABLE 0x11u
#define READ_ONLY 0xaa2u
#define READ_WRITE 0xff2u
#endif
#define FAULTS(entry) (((entry)&3u) == 0)

/* A function that you write: an access to `address` by the instruction at `pc` cannot be served. The error
 * is the pager's; FP_PAGER_OUTSIDE also stands for a write to the code, and for an instruction that is
 * not known to read. It must not return, as a read may have been done in part. Try again in
 * fp_flash_failed() and fp_flash_peek() instead. */
FP_PAGER_API void fp_arm926_failed(uint32_t pc, uint32_t address, int error);

#if !FP_ARM926_PAGES_READS
/* A function that you write: reads 1, 2 or 4 bytes of the image, aligned to their number, beside the
 * pager's loads. Returns 0 or an error. */
FP_PAGER_API int fp_flash_peek(fp_offset offset, uint8_t *to, uint_fast8_t size);
#endif

static uint32_t tables[TABLES * TABLE_ENTRIES] __attribute__((aligned(4096)));
static uint8_t memory[FP_PAGER_FRAMES * 1ul * FP_PAGER_PAGE_BYTES]
    __attribute__((aligned(FP_PAGER_PAGE_BYTES)));

/* The first entry of a page. */
#define ENTRIES_OF(page) (tables + BEFORE + (page)*PARTS)

/* Removes a page from the TLB. Always inlined, as its callers are in the ARM state. */
__attribute__((always_inline)) static inline void forget(fp_page page)
{
#if FP_PAGER_PAGE_BYTES == 1024
    uint32_t address = FP_ARM926_CODE + page * FP_PAGER_PAGE_BYTES;
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 1" : : "r"(address) : "memory");
#else
    /* Empties the TLB: that costs no more than four entries, and QEMU, which has pages of 1 KB here, would
     * remove only a quarter of a page. */
    (void)page;
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" : : "r"(0) : "memory");
#endif
}

FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame)
{
    return memory + frame * FP_PAGER_PAGE_BYTES;
}

FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page)
{
    uint32_t entry = *ENTRIES_OF(page);
    if (FAULTS(entry))
        return entry >> 2;
    return (entry - (uint32_t)(uintptr_t)memory) / FP_PAGER_PAGE_BYTES + 1u;
}

IN_ARM_STATE FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    uint32_t *entries = ENTRIES_OF(page);
    for (uint32_t i = 0; i < PARTS; i++)
        entries[i] = ((uint32_t)(uintptr_t)fp_mmu_bytes(frame) + i * MAPPED_BYTES) | READ_ONLY;
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4" : : "r"(0) : "memory");
}

#if FP_PAGER_CRITICAL_BYTES
IN_ARM_STATE FP_PAGER_API void fp_mmu_map_block(fp_page page, uint_fast16_t frame, uint_fast8_t block)
{
    uint32_t *entries = ENTRIES_OF(page);
    for (uint32_t i = 0; i < PARTS; i++) {
        entries[i] = i / (FP_PAGER_CRITICAL_BYTES / MAPPED_BYTES) == block
                         ? ((uint32_t)(uintptr_t)fp_mmu_bytes(frame) + i * MAPPED_BYTES) | READ_ONLY
                         : (uint32_t)(frame + 1u) << 2;
    }
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4" : : "r"(0) : "memory");
}
#endif

IN_ARM_STATE FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    uint32_t *entries = ENTRIES_OF(page);
    for (uint32_t i = 0; i < PARTS; i++)
        entries[i] = (uint32_t)(frame + 1u) << 2;
    forget(page);
}

IN_ARM_STATE FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    uint32_t *entries = ENTRIES_OF(page);
    for (uint32_t i = 0; i < PARTS; i++)
        entries[i] = 0;
    forget(page);
}

/* Writes the entries of the code into a first-level table of 4,096 words. */
IN_ARM_STATE FP_PAGER_API void fp_arm926_start(uint32_t *level_1)
{
    const uint32_t first = FP_ARM926_CODE / MEGABYTE;
    for (uint32_t i = 0; i < TABLES * TABLE_ENTRIES; i++) {
        const uint32_t address = first * MEGABYTE + i * MAPPED_BYTES;
        tables[i] = i - BEFORE < FP_PAGER_PAGES * PARTS ? 0 : address | READ_WRITE;
    }
    for (uint32_t i = 0; i < TABLES; i++)
        level_1[first + i] = (uint32_t)(uintptr_t)(tables + i * TABLE_ENTRIES) | LEVEL_1_TABLE;
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4\n\t"
                     "mcr p15, 0, %0, c8, c7, 0"
                     :
                     : "r"(0)
                     : "memory");
}

#if FP_PAGER_CRITICAL_BYTES
#define FAULT_AT(offset) fp_pager_fault_at(offset)
#else
#define FAULT_AT(offset) fp_pager_fault((fp_page)((offset) / FP_PAGER_PAGE_BYTES))
#endif

__attribute__((used)) static void prefetch_abort(uint32_t pc)
{
    /* An address below the image wraps around to a page far after it, which is refused. */
    int error = FAULT_AT(pc - FP_ARM926_CODE);
    if (error)
        fp_arm926_failed(pc, pc, error);
}

/* The index, among the program's registers, of the address of the instruction; 0 to 14 are before it. */
#define PC 15
/* Bits of the program's status register. A loaded address has the Thumb state in its last bit. */
#define THUMB 0x20u
#define CARRY 0x20000000u
#define BIT(n) (instruction >> (n)&1u)

static int is_code(uint32_t address)
{
    return address - FP_ARM926_CODE < FP_PAGER_IMAGE_BYTES;
}

/* Reads 1, 2 or 4 bytes, aligned to their number. Returns 0 or an error. */
static int read_code(uint32_t address, uint_fast8_t size, uint32_t *value)
{
    uint8_t bytes[4] = {0};
    const fp_offset offset = address - FP_ARM926_CODE;
    const fp_page page = (fp_page)(offset / FP_PAGER_PAGE_BYTES);
    int error = is_code(address) ? FP_PAGER_OK : FP_PAGER_OUTSIDE;
#if FP_ARM926_PAGES_READS
    if (!error)
        error = FAULT_AT(offset);
#endif
    if (!error) {
#if FP_ARM926_PAGES_READS
        /* The block that is read has arrived, though the rest of the page may not have. */
        const uint8_t *in_frame = fp_mmu_bytes(fp_mmu_frame(page) - 1u);
#else
        const uint8_t *in_frame = fp_pager_peek(page);
        if (!in_frame)
            error = fp_flash_peek(offset, bytes, size);
        else
#endif
            memcpy(bytes, in_frame + offset % FP_PAGER_PAGE_BYTES, size);
    }
    *value = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return error;
}

/* Returns the offset of an ldr instruction that is a shifted register. */
static uint32_t shifted(uint32_t instruction, const uint32_t *registers, uint32_t status)
{
    const uint32_t value = registers[instruction & 15u];
    const uint32_t shift = instruction >> 7 & 31u;
    switch (instruction >> 5 & 3u) {
    case 0:
        return value << shift;
    case 1:
        return shift ? value >> shift : 0;
    case 2:
        return (value >> (shift ? shift : 31u)) | (value >> 31 ? ~(UINT32_MAX >> (shift ? shift : 31u)) : 0);
    default: /* a shift by 0 is rrx: the carry comes in */
        return shift ? value >> shift | value << (32u - shift) : value >> 1 | (status & CARRY) << 2;
    }
}

/* The data read of an instruction. */
struct code_read {
    uint32_t address;
    uint32_t loaded; /* registers, ascending; 0 for an instruction that is not known to read */
    uint32_t written_back; /* the new value of the base register */
    uint_fast8_t size; /* bytes of each register */
    uint_fast8_t is_signed;
    uint_fast8_t base; /* the register to write back to, or PC for none */
};

static uint32_t bytes_of_list(uint32_t list)
{
    uint32_t bytes = 0;
    for (; list; list &= list - 1u)
        bytes += 4;
    return bytes;
}

static struct code_read read_by_arm(uint32_t instruction, const uint32_t *registers, uint32_t status)
{
    const uint32_t rn = instruction >> 16 & 15u, rd = instruction >> 12 & 15u;
    const uint32_t is_before = BIT(24), is_up = BIT(23), kind = instruction >> 4 & 15u;
    const uint32_t from = registers[rn] + (rn == PC ? 8u : 0u);
    struct code_read read = {0, 1u << rd, 0, 4, 0, PC};
    uint32_t offset, is_list = 0;
    if ((instruction >> 26 & 3u) == 1u && BIT(20) && !(BIT(25) && BIT(4))) {
        offset = BIT(25) ? shifted(instruction, registers, status) : instruction & 0xfffu;
        read.size = BIT(22) ? 1 : 4;
    } else if ((instruction >> 25 & 7u) == 0 &&
               (kind == 13u || (BIT(20) && (kind == 11u || kind == 15u)))) {
        offset = BIT(22) ? (instruction >> 4 & 0xf0u) | (instruction & 15u)
                         : registers[instruction & 15u];
        if (!BIT(20))
            read.loaded |= read.loaded << 1;
        else
            read.size = kind == 13u ? 1 : 2;
        read.is_signed = kind != 11u;
    } else {
        is_list = (instruction >> 25 & 7u) == 4u && BIT(20) && !BIT(22);
        read.loaded = is_list ? instruction & 0xffffu : 0;
        offset = bytes_of_list(read.loaded);
    }
    read.address = read.written_back = is_up ? from + offset : from - offset;
    if (is_list)
        read.address = (is_up ? from : read.address) + (is_before == is_up ? 4u : 0u);
    else if (!is_before)
        read.address = from;
    if (BIT(21) || !(is_list || is_before))
        read.base = (uint_fast8_t)rn;
    return read;
}

static struct code_read read_by_thumb(uint32_t instruction, const uint32_t *registers)
{
    /* Sizes of str, strh, strb, ldrsb, ldr, ldrh, ldrb and ldrsh with an address of two registers. */
    static const uint8_t sizes[8] = {0, 0, 0, 1, 4, 2, 1, 2};
    const uint32_t rn = instruction >> 3 & 7u, operation = instruction >> 9 & 7u;
    const uint32_t offset = instruction >> 6 & 31u;
    struct code_read read = {registers[rn], 1u << (instruction & 7u), 0, 4, 0, PC};
    switch (instruction >> 11) {
    case 9: /* ldr, from the literal pool */
        read.address = ((registers[PC] + 4u) & ~3u) + (instruction & 0xffu) * 4u;
        read.loaded = 1u << (instruction >> 8 & 7u);
        break;
    case 10:
    case 11:
        read.address += registers[instruction >> 6 & 7u];
        read.size = sizes[operation];
        read.is_signed = operation == 3u || operation == 7u;
        break;
    case 13: /* ldr */
        read.address += offset * 4u;
        break;
    case 15: /* ldrb */
        read.address += offset;
        read.size = 1;
        break;
    case 17: /* ldrh */
        read.address += offset * 2u;
        read.size = 2;
        break;
    case 25: /* ldmia */
        read.base = instruction >> 8 & 7u;
        read.address = registers[read.base];
        read.loaded = instruction & 0xffu;
        read.written_back = read.address + bytes_of_list(read.loaded);
        break;
    default:
        read.size = 0;
    }
    if (!read.size)
        read.loaded = 0;
    return read;
}

/* Emulates the instruction at the program counter, which reads from the code. Returns 0 or an error. */
static int read_for(uint32_t *registers, uint32_t *status)
{
    const uint32_t pc = registers[PC], is_thumb = *status & THUMB;
    struct code_read read =
        is_thumb ? read_by_thumb(*(const uint16_t *)(uintptr_t)pc, registers)
                 : read_by_arm(*(const uint32_t *)(uintptr_t)pc, registers, *status);
    if (!read.loaded || !is_code(read.address))
        return FP_PAGER_OUTSIDE;
    registers[PC] = pc + (is_thumb ? 2u : 4u);
    if (read.base != PC)
        registers[read.base] = read.written_back;
    for (uint32_t to = 0; read.loaded; to++, read.loaded >>= 1) {
        uint32_t value;
        int error;
        if (!(read.loaded & 1u))
            continue;
        error = read_code(read.address & (uint32_t)-read.size, read.size, &value);
        if (error)
            return error;
        if (read.is_signed && read.size < 4 && value >> (8 * read.size - 1))
            value |= UINT32_MAX << 8 * read.size;
        if (read.size == 4)
            value = value >> 8 * (read.address & 3u) | value << (-8 * (read.address & 3u) & 31u);
        if (to == PC) {
            if (value & 1u)
                *status |= THUMB;
            value &= (uint32_t)~1;
        }
        registers[to] = value;
        read.address += 4;
    }
    return FP_PAGER_OK;
}

/* Serves an access to data that has failed. Returns the status to go on with. */
__attribute__((used)) static uint32_t data_abort(uint32_t *registers, uint32_t status, uint32_t address)
{
    const uint32_t pc = registers[PC];
    int error = read_for(registers, &status);
    if (error)
        fp_arm926_failed(pc, address, error);
    return status;
}

/* The handlers of the two aborts, for their vectors. */
IN_ARM_STATE __attribute__((naked, used)) FP_PAGER_API void fp_arm926_prefetch_abort(void);
IN_ARM_STATE __attribute__((naked, used)) FP_PAGER_API void fp_arm926_prefetch_abort(void)
{
    __asm__ volatile("sub lr, lr, #4\n\t"
                     "push {r0-r3, r12, lr}\n\t"
                     "mov r0, lr\n\t"
                     "bl prefetch_abort\n\t"
                     "ldm sp!, {r0-r3, r12, pc}^");
}

/* The program's stack pointer and link register are those of user mode. */
IN_ARM_STATE __attribute__((naked, used)) FP_PAGER_API void fp_arm926_data_abort(void);
IN_ARM_STATE __attribute__((naked, used)) FP_PAGER_API void fp_arm926_data_abort(void)
{
    __asm__ volatile("sub lr, lr, #8\n\t"
                     "sub sp, sp, #64\n\t"
                     "stm sp, {r0-r14}^\n\t"
                     "str lr, [sp, #60]\n\t"
                     "mov r0, sp\n\t"
                     "mrs r1, spsr\n\t"
                     "mrc p15, 0, r2, c6, c0, 0\n\t"
                     "bl data_abort\n\t"
                     "msr spsr_cxsf, r0\n\t"
                     "ldr lr, [sp, #60]\n\t"
                     "ldm sp, {r0-r14}^\n\t"
                     "nop\n\t"
                     "add sp, sp, #64\n\t"
                     "movs pc, lr");
}
