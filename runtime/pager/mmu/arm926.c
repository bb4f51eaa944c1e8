/*
 * The MMU of an ARM926EJ-S for the pager: page tables, and the two aborts
 *
 * For ARMv4T and ARMv5 with their page tables: pages of 1 KB (tiny pages, in fine tables) or 4 KB
 * (small pages, in coarse ones). Include it behind pager.c, or compile it with the same design. That
 * says besides:
 *
 *     #define FP_ARM926_CODE 0x00400000   // where the image begins for the program
 *
 * Then:
 *
 *     fp_pager_start();
 *     fp_arm926_start(level_1);           // your table: its entries for the code are written
 *
 * and the vectors of the two aborts go to fp_arm926_prefetch_abort and fp_arm926_data_abort. Both want
 * a stack of some 300 bytes beside what your port takes, in abort mode. Both run with interrupts off.
 *
 * A program may write data behind the code into the same megabyte: pages of those tables that are not
 * of the image are mapped where they are.
 *
 * Reads. A literal in a page that is not mapped faults as data. The data abort reads it from the frame
 * if there is one, else with fp_flash_peek() from flash, and goes on behind the instruction: ldr,
 * ldrb, ldrh, ldrsb, ldrsh, ldrd and ldm in the ARM state, also into the program counter. That is
 * no reference, and no page comes in.
 *
 * Caches. The write buffer is drained when a page is mapped. Where the data cache is on, map the
 * frames uncached. The instruction cache has virtual tags: what it has of a page stays right when the
 * page goes out, as code does not change.
 */
#include "../flashpager_pager.h"

#if FP_PAGER_PAGE_BYTES != 1024 && FP_PAGER_PAGE_BYTES != 4096
#error "an ARM926 has pages of 1 and 4 KB"
#endif
#if FP_ARM926_CODE % FP_PAGER_PAGE_BYTES
#error "FP_ARM926_CODE is where a page begins"
#endif

#define MEGABYTE 0x100000u
/* Pages before the image in the first table. */
#define BEFORE (FP_ARM926_CODE % MEGABYTE / FP_PAGER_PAGE_BYTES)
#define TABLES ((FP_ARM926_CODE % MEGABYTE + FP_PAGER_IMAGE_BYTES - 1u) / MEGABYTE + 1u)
#define TABLE_ENTRIES (MEGABYTE / FP_PAGER_PAGE_BYTES)
/* Second-level entries: for the program to read and execute, and for all to write. Where the last two
 * bits are 0 there is a fault: the others are ours, and say the frame + 1. */
#if FP_PAGER_PAGE_BYTES == 1024
#define LEVEL_1_TABLE 0x13u
#define READ_ONLY 0x23u
#define READ_WRITE 0x33u
#else
#define LEVEL_1_TABLE 0x11u
#define READ_ONLY 0xaa2u
#define READ_WRITE 0xff2u
#endif
#define FAULTS(entry) (((entry)&3u) == 0)

/* Yours: an abort that cannot be served, of an access to `address` by the instruction at `pc`. The
 * error is the pager's; FP_PAGER_OUTSIDE also for a write to the code, and for an instruction that is
 * not known to read. It should not return: if it does the access is tried again. */
FP_PAGER_API void fp_arm926_failed(uint32_t pc, uint32_t address, int error);

/* Yours: read bytes of the image, 1, 2 or 4, aligned as many, beside what the pager does. */
FP_PAGER_API void fp_flash_peek(fp_offset offset, uint8_t *to, uint_fast8_t size);

static uint32_t tables[TABLES * TABLE_ENTRIES] __attribute__((aligned(4096)));
static uint8_t memory[FP_PAGER_FRAMES * 1ul * FP_PAGER_PAGE_BYTES]
    __attribute__((aligned(FP_PAGER_PAGE_BYTES)));

static inline void forget(fp_page page)
{
#if FP_PAGER_PAGE_BYTES == 1024
    uint32_t address = FP_ARM926_CODE + page * FP_PAGER_PAGE_BYTES;
    __asm__ volatile("mcr p15, 0, %0, c8, c7, 1" : : "r"(address) : "memory");
#else
    /* All of it: QEMU, whose pages have 1 KB here, forgets a quarter of a page otherwise. */
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
    uint32_t entry = tables[BEFORE + page];
    if (FAULTS(entry))
        return entry >> 2;
    return (entry - (uint32_t)(uintptr_t)memory) / FP_PAGER_PAGE_BYTES + 1u;
}

FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame)
{
    tables[BEFORE + page] = (uint32_t)(uintptr_t)fp_mmu_bytes(frame) | READ_ONLY;
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4" : : "r"(0) : "memory");
}

FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame)
{
    tables[BEFORE + page] = (uint32_t)(frame + 1u) << 2;
    forget(page);
}

FP_PAGER_API void fp_mmu_unmap(fp_page page)
{
    tables[BEFORE + page] = 0;
    forget(page);
}

/* Write the entries of the code into a first-level table of 4,096 words. */
FP_PAGER_API void fp_arm926_start(uint32_t *level_1)
{
    const uint32_t first = FP_ARM926_CODE / MEGABYTE;
    for (uint32_t i = 0; i < TABLES * TABLE_ENTRIES; i++) {
        const uint32_t address = first * MEGABYTE + i * FP_PAGER_PAGE_BYTES;
        tables[i] = i - BEFORE < FP_PAGER_PAGES ? 0 : address | READ_WRITE;
    }
    for (uint32_t i = 0; i < TABLES; i++)
        level_1[first + i] = (uint32_t)(uintptr_t)(tables + i * TABLE_ENTRIES) | LEVEL_1_TABLE;
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 4\n\t"
                     "mcr p15, 0, %0, c8, c7, 0"
                     :
                     : "r"(0)
                     : "memory");
}

__attribute__((used)) static void prefetch_abort(uint32_t pc)
{
    /* Below the image that is a page far behind it. */
    int error = fp_pager_fault((fp_page)((pc - FP_ARM926_CODE) / FP_PAGER_PAGE_BYTES));
    if (error)
        fp_arm926_failed(pc, pc, error);
}

/* What the data abort has of the program: registers 0 to 14, and the address of the instruction. */
#define PC 15
#define BIT(n) (instruction >> (n)&1u)

static int is_code(uint32_t address)
{
    return address - FP_ARM926_CODE < FP_PAGER_IMAGE_BYTES;
}

/* Read 1, 2 or 4 bytes, aligned as many. */
static uint32_t read_code(uint32_t address, uint_fast8_t size)
{
    uint8_t bytes[4] = {0};
    const fp_offset offset = address - FP_ARM926_CODE;
    const uint8_t *page = fp_pager_peek((fp_page)(offset / FP_PAGER_PAGE_BYTES));
    if (page)
        memcpy(bytes, page + offset % FP_PAGER_PAGE_BYTES, size);
    else
        fp_flash_peek(offset, bytes, size);
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* The operand of ldr that is a register with a shift. */
static uint32_t shifted(uint32_t instruction, const uint32_t *registers)
{
    const uint32_t value = registers[instruction & 15u];
    const uint32_t by = instruction >> 7 & 31u;
    switch (instruction >> 5 & 3u) {
    case 0:
        return value << by;
    case 1:
        return by ? value >> by : 0;
    case 2:
        return (value >> (by ? by : 31u)) | (value >> 31 ? ~(UINT32_MAX >> (by ? by : 31u)) : 0);
    default:
        return value >> by | value << (-by & 31u);
    }
}

/* Do what an instruction wanted to read from the code. Gives whether it did. */
static int read_for(uint32_t *registers)
{
    const uint32_t instruction = *(const uint32_t *)(uintptr_t)registers[PC];
    const uint32_t rn = instruction >> 16 & 15u, rd = instruction >> 12 & 15u;
    const uint32_t is_before = BIT(24), is_up = BIT(23), kind = instruction >> 4 & 15u;
    const uint32_t base = registers[rn] + (rn == PC ? 8u : 0u);
    /* The registers to load, ascending, and what each takes. */
    uint32_t loaded = 1u << rd, offset, at;
    uint_fast8_t size = 4, is_signed = 0;
    if ((instruction >> 26 & 3u) == 1u && BIT(20) && !(BIT(25) && BIT(4))) {
        offset = BIT(25) ? shifted(instruction, registers) : instruction & 0xfffu;
        size = BIT(22) ? 1 : 4;
        at = is_up ? base + offset : base - offset;
    } else if ((instruction >> 25 & 7u) == 0 &&
               (kind == 13u || (BIT(20) && (kind == 11u || kind == 15u)))) {
        offset = BIT(22) ? (instruction >> 4 & 0xf0u) | (instruction & 15u)
                         : registers[instruction & 15u];
        if (!BIT(20))
            loaded |= loaded << 1;
        else
            size = kind == 13u ? 1 : 2;
        is_signed = kind != 11u;
        at = is_up ? base + offset : base - offset;
    } else if ((instruction >> 25 & 7u) == 4u && BIT(20) && !BIT(22)) {
        loaded = instruction & 0xffffu;
        offset = 0;
        for (uint32_t left = loaded; left; left &= left - 1u)
            offset += 4;
        at = is_up ? base + offset : base - offset;
    } else {
        return 0;
    }
    {
        const uint32_t written_back = at;
        if ((instruction >> 25 & 7u) == 4u) {
            at = (is_up ? base : at) + (is_before == is_up ? 4u : 0u);
        } else if (!is_before) {
            at = base;
        }
        if (!is_code(at))
            return 0;
        registers[PC] += 4u;
        if (BIT(21) || ((instruction >> 25 & 7u) != 4u && !is_before))
            registers[rn] = written_back;
    }
    for (uint32_t to = 0; loaded; to++, loaded >>= 1) {
        uint32_t value;
        if (!(loaded & 1u))
            continue;
        if (!is_code(at))
            return 0;
        value = read_code(at & (uint32_t)-size, size);
        if (is_signed && size < 4 && value >> (8 * size - 1))
            value |= UINT32_MAX << 8 * size;
        if (size == 4)
            value = value >> 8 * (at & 3u) | value << (-8 * (at & 3u) & 31u);
        if (to == PC) {
            /* With the last bit set, in the Thumb state. */
            if (value & 1u)
                __asm__ volatile("mrs r12, spsr\n\torr r12, r12, #0x20\n\tmsr spsr_c, r12"
                                 :
                                 :
                                 : "r12");
            value &= (uint32_t)~1;
        }
        registers[to] = value;
        at += 4;
    }
    return 1;
}

__attribute__((used)) static void data_abort(uint32_t *registers)
{
    const uint32_t pc = registers[PC];
    uint32_t address, status;
    __asm__("mrs %0, spsr" : "=r"(status));
    __asm__("mrc p15, 0, %0, c6, c0, 0" : "=r"(address));
    /* Not in the Thumb state. */
    if (status & 0x20u || !read_for(registers))
        fp_arm926_failed(pc, address, FP_PAGER_OUTSIDE);
}

/* What the vectors of the two aborts go to. */
__attribute__((naked, used)) FP_PAGER_API void fp_arm926_prefetch_abort(void);
__attribute__((naked, used)) FP_PAGER_API void fp_arm926_prefetch_abort(void)
{
    __asm__ volatile("sub lr, lr, #4\n\t"
                     "push {r0-r3, r12, lr}\n\t"
                     "mov r0, lr\n\t"
                     "bl prefetch_abort\n\t"
                     "ldm sp!, {r0-r3, r12, pc}^");
}

/* The program's own stack pointer and link register are those of user mode. */
__attribute__((naked, used)) FP_PAGER_API void fp_arm926_data_abort(void);
__attribute__((naked, used)) FP_PAGER_API void fp_arm926_data_abort(void)
{
    __asm__ volatile("sub lr, lr, #8\n\t"
                     "sub sp, sp, #64\n\t"
                     "stm sp, {r0-r14}^\n\t"
                     "str lr, [sp, #60]\n\t"
                     "mov r0, sp\n\t"
                     "bl data_abort\n\t"
                     "ldr lr, [sp, #60]\n\t"
                     "ldm sp, {r0-r14}^\n\t"
                     "nop\n\t"
                     "add sp, sp, #64\n\t"
                     "movs pc, lr");
}
