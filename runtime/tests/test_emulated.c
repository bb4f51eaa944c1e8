/* The emulated medium itself. */
#define _POSIX_C_SOURCE 200809L

#include "../medium/emulated.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 64u
#define PAGES 4u
#define BLOCKS 8u

static const struct fp_emulated_config shape = {
    .program_bytes = PAGE, .block_bytes = PAGE * PAGES, .block_count = BLOCKS, .seed = 1};

static struct fp_emulated *open_or_fail(const struct fp_emulated_config *config)
{
    struct fp_emulated *medium = fp_emulated_open(config);
    if (!medium)
        FAIL("open: %s", strerror(errno));
    return medium;
}

static int nand_read(struct fp_emulated *medium, uint32_t block, uint32_t offset, uint32_t size)
{
    uint8_t data[PAGE * PAGES];
    const struct fp_medium *nand = fp_emulated_medium(medium);
    return nand->read(nand->context, block, offset, data, size);
}

static int nand_program(struct fp_emulated *medium, uint32_t block, uint32_t page, uint8_t value)
{
    uint8_t data[PAGE];
    const struct fp_medium *nand = fp_emulated_medium(medium);
    memset(data, value, sizeof(data));
    return nand->program(nand->context, block, page * PAGE, data, PAGE);
}

static int nand_erase(struct fp_emulated *medium, uint32_t block)
{
    const struct fp_medium *nand = fp_emulated_medium(medium);
    return nand->erase(nand->context, block);
}

static uint8_t *page_at(struct fp_emulated *medium, uint32_t block, uint32_t page)
{
    return fp_emulated_bytes(medium) + (block * PAGES + page) * PAGE;
}

static bool holds(const uint8_t *at, uint8_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        if (at[i] != value)
            return false;
    return true;
}

static void fresh(void)
{
    struct fp_emulated *medium = open_or_fail(&shape);
    EXPECT(holds(fp_emulated_bytes(medium), 0xff, PAGE * PAGES * BLOCKS));
    for (uint32_t block = 0; block < BLOCKS; block++) {
        EXPECT_EQ(fp_emulated_wear(medium, block), 0);
        EXPECT(!fp_emulated_is_bad(medium, block));
    }
    EXPECT_EQ(nand_program(medium, 3, 0, 0x5a), 0);
    EXPECT(holds(page_at(medium, 3, 0), 0x5a, PAGE));
    EXPECT(holds(page_at(medium, 3, 1), 0xff, PAGE));
    EXPECT_EQ(nand_erase(medium, 3), 0);
    EXPECT(holds(page_at(medium, 3, 0), 0xff, PAGE));
    EXPECT_EQ(fp_emulated_wear(medium, 3), 1);
    EXPECT_EQ(nand_program(medium, 3, 0, 0x5b), 0);
    fp_emulated_close(medium);
}

static void impossible_shapes(void)
{
    static const struct fp_emulated_config shapes[] = {
        {.program_bytes = 0, .block_bytes = 64, .block_count = 1},
        {.program_bytes = 64, .block_bytes = 0, .block_count = 1},
        {.program_bytes = 64, .block_bytes = 64, .block_count = 0},
        {.program_bytes = 64, .block_bytes = 96, .block_count = 1},
        {.program_bytes = 64, .block_bytes = 64, .block_count = 1, .factory_bad = 2},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        errno = 0;
        EXPECT(!fp_emulated_open(&shapes[i]));
        EXPECT_EQ(errno, EINVAL);
    }
}

enum misuse {
    PROGRAM_TWICE,
    PROGRAM_BACKWARD,
    PROGRAM_PART,
    PROGRAM_CROOKED,
    PROGRAM_OUTSIDE,
    PROGRAM_BAD,
    PROGRAM_FAILED,
    PROGRAM_TORN,
    PROGRAM_HALF_ERASED,
    ERASE_OUTSIDE,
    ERASE_BAD,
    READ_ACROSS,
    READ_OUTSIDE,
    READ_WRAPPED,
    IS_BAD_OUTSIDE,
    MARK_OUTSIDE,
    REWRITE_ACROSS,
};

static void misuse(void *argument)
{
    struct fp_emulated_config config = shape;
    uint8_t data[PAGE * PAGES] = {0};
    enum misuse how = *(enum misuse *)argument;
    if (how == PROGRAM_FAILED)
        config.program_fail_ppm = 1000000;
    if (how == REWRITE_ACROSS)
        config.program_bytes = 1;
    struct fp_emulated *medium = open_or_fail(&config);
    const struct fp_medium *nand = fp_emulated_medium(medium);
    switch (how) {
    case PROGRAM_TWICE:
        nand_program(medium, 0, 0, 0);
        nand_program(medium, 0, 0, 0);
        break;
    case PROGRAM_BACKWARD:
        nand_program(medium, 0, 2, 0);
        nand_program(medium, 0, 1, 0);
        break;
    case PROGRAM_PART:
        nand->program(nand->context, 0, 0, data, PAGE / 2);
        break;
    case PROGRAM_CROOKED:
        nand->program(nand->context, 0, PAGE / 2, data, PAGE);
        break;
    case PROGRAM_OUTSIDE:
        nand_program(medium, 0, PAGES, 0);
        break;
    case PROGRAM_BAD:
        nand->mark_bad(nand->context, 5);
        nand_program(medium, 5, 0, 0);
        break;
    case PROGRAM_FAILED:
        nand_program(medium, 0, 0, 0);
        nand_program(medium, 0, 1, 0);
        break;
    case PROGRAM_TORN:
        fp_emulated_cut_power(medium, 1, FP_EMULATED_CUT_TORN);
        nand_program(medium, 0, 0, 0);
        fp_emulated_power_on(medium);
        nand_program(medium, 0, 0, 0);
        break;
    case PROGRAM_HALF_ERASED:
        fp_emulated_cut_power(medium, 1, FP_EMULATED_CUT_TORN);
        nand_erase(medium, 0);
        fp_emulated_power_on(medium);
        nand_program(medium, 0, 0, 0);
        break;
    case ERASE_OUTSIDE:
        nand_erase(medium, BLOCKS);
        break;
    case ERASE_BAD:
        nand->mark_bad(nand->context, 5);
        nand_erase(medium, 5);
        break;
    case READ_ACROSS:
        nand_read(medium, 0, PAGE * PAGES - 1, 2);
        break;
    case READ_OUTSIDE:
        nand_read(medium, BLOCKS, 0, 1);
        break;
    case READ_WRAPPED:
        nand_read(medium, 0, UINT32_MAX, 2);
        break;
    case IS_BAD_OUTSIDE:
        nand->is_bad(nand->context, BLOCKS);
        break;
    case MARK_OUTSIDE:
        nand->mark_bad(nand->context, BLOCKS);
        break;
    case REWRITE_ACROSS:
        nand->program(nand->context, 0, PAGE * PAGES - 1, data, 2);
        break;
    }
    fp_emulated_close(medium);
}

static void illegal_use_aborts(void)
{
    static const char *const lines[] = {
        [PROGRAM_TWICE] = "program twice or out of order: block 0, offset 0,",
        [PROGRAM_BACKWARD] = "program twice or out of order: block 0, offset 64,",
        [PROGRAM_PART] = "program of no whole flash page",
        [PROGRAM_CROOKED] = "program of no whole flash page",
        [PROGRAM_OUTSIDE] = "program outside",
        [PROGRAM_BAD] = "program of a bad block: block 5",
        [PROGRAM_FAILED] = "program after a failure",
        [PROGRAM_TORN] = "program twice or out of order",
        [PROGRAM_HALF_ERASED] = "program twice or out of order",
        [ERASE_OUTSIDE] = "erase outside: block 8",
        [ERASE_BAD] = "erase of a bad block: block 5",
        [READ_ACROSS] = "read outside: block 0, offset 255, 2 bytes",
        [READ_OUTSIDE] = "read outside: block 8",
        [READ_WRAPPED] = "read outside",
        [IS_BAD_OUTSIDE] = "bad mark outside",
        [MARK_OUTSIDE] = "bad mark outside",
        [REWRITE_ACROSS] = "program outside",
    };
    for (enum misuse how = PROGRAM_TWICE; how <= REWRITE_ACROSS; how++) {
        test_at("%s", lines[how]);
        EXPECT(test_aborts(misuse, &how, lines[how]));
    }
}

static void expect_reads(struct fp_emulated *medium, uint64_t loads, uint64_t columns)
{
    struct fp_emulated_counters counters;
    fp_emulated_counters(medium, &counters);
    EXPECT_EQ(counters.loads, loads);
    EXPECT_EQ(counters.columns, columns);
}

static void data_register(void)
{
    struct fp_emulated *medium = open_or_fail(&shape);
    nand_read(medium, 0, 0, 16); /* loads */
    expect_reads(medium, 1, 0);
    nand_read(medium, 0, 16, 16); /* goes on */
    expect_reads(medium, 1, 0);
    nand_read(medium, 0, 40, 8); /* ahead */
    expect_reads(medium, 1, 1);
    nand_read(medium, 0, 0, 8); /* back, in the same page */
    expect_reads(medium, 1, 2);
    nand_read(medium, 0, PAGE, 8); /* the next page */
    expect_reads(medium, 2, 2);
    nand_read(medium, 1, PAGE, 8); /* the same page of another block */
    expect_reads(medium, 3, 2);
    nand_program(medium, 2, 0, 0); /* empties the register */
    nand_read(medium, 1, PAGE + 8, 8);
    expect_reads(medium, 4, 2);
    nand_erase(medium, 2); /* this one, too */
    nand_read(medium, 1, PAGE + 16, 8);
    expect_reads(medium, 5, 2);
    nand_read(medium, 3, 0, PAGE * 3); /* three pages at once */
    expect_reads(medium, 8, 2);
    struct fp_emulated_counters counters;
    fp_emulated_counters(medium, &counters);
    EXPECT_EQ(counters.reads, 9);
    EXPECT_EQ(counters.read_bytes, 16 + 16 + 8 * 6 + PAGE * 3);
    EXPECT_EQ(counters.programs, 1);
    EXPECT_EQ(counters.program_bytes, PAGE);
    EXPECT_EQ(counters.erases, 1);
    fp_emulated_close(medium);
}

static void rewrites_in_place(void)
{
    struct fp_emulated_config config = shape;
    config.program_bytes = 1;
    struct fp_emulated *medium = open_or_fail(&config);
    const struct fp_medium *ram = fp_emulated_medium(medium);
    EXPECT(!ram->erase && !ram->is_bad && !ram->mark_bad);
    uint8_t data[PAGE * PAGES];
    for (uint32_t round = 0; round < 3; round++) {
        memset(data, (int)round, sizeof(data));
        EXPECT_EQ(ram->program(ram->context, 1, 3, data, 100), 0);
        EXPECT_EQ(ram->program(ram->context, 1, 103, data, 28), 0);
    }
    EXPECT(holds(fp_emulated_bytes(medium) + PAGE * PAGES + 3, 2, 128));
    EXPECT_EQ(fp_emulated_wear(medium, 1), 3 * 128 / (PAGE * PAGES));
    EXPECT_EQ(ram->read(ram->context, 1, 3, data, 128), 0);
    EXPECT_EQ(ram->read(ram->context, 1, 9, data, 128), 0);
    expect_reads(medium, 0, 0);
    fp_emulated_close(medium);
}

static void wears_out(void)
{
    struct fp_emulated_config config = shape;
    config.endurance_cycles = 20;
    struct fp_emulated *medium = open_or_fail(&config);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        uint32_t cycles = 0;
        while (!nand_erase(medium, block))
            cycles++;
        EXPECT(cycles >= 20);
        EXPECT(cycles < 29);
        EXPECT_EQ(fp_emulated_wear(medium, block), cycles + 1);
        EXPECT(!fp_emulated_is_bad(medium, block));
        const struct fp_medium *nand = fp_emulated_medium(medium);
        EXPECT_EQ(nand->mark_bad(nand->context, block), 0);
        EXPECT(nand->is_bad(nand->context, block));
    }
    fp_emulated_close(medium);
}

static void failures(void)
{
    struct fp_emulated_config config = shape;
    config.program_fail_ppm = 300000;
    config.erase_fail_ppm = 300000;
    config.corrected_ppm = 300000;
    config.factory_bad = 3;
    struct fp_emulated *medium = open_or_fail(&config);
    uint32_t bad = 0, programs = 0, erases = 0, corrected = 0, kept = 0;
    for (uint32_t block = 0; block < BLOCKS; block++)
        bad += fp_emulated_is_bad(medium, block);
    EXPECT_EQ(bad, 3);
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t block = round % BLOCKS;
        int read = nand_read(medium, block, 0, 1);
        EXPECT(read == 0 || read == 1);
        corrected += read == 1;
        if (fp_emulated_is_bad(medium, block))
            continue;
        if (nand_erase(medium, block)) {
            erases++;
            continue;
        }
        EXPECT(holds(page_at(medium, block, 0), 0xff, PAGE * PAGES));
        if (nand_program(medium, block, 0, 0x22)) {
            programs++;
            continue;
        }
        /* Another page's failure does not change this one. */
        kept += nand_program(medium, block, 1, 0x33) != 0;
        EXPECT(holds(page_at(medium, block, 0), 0x22, PAGE));
        EXPECT(holds(page_at(medium, block, 2), 0xff, PAGE * 2));
    }
    EXPECT(corrected > 200 && corrected < 400);
    EXPECT(erases > 100 && programs > 70 && kept > 40);
    fp_emulated_close(medium);
}

static void power_cuts(void)
{
    static const enum fp_emulated_cut cuts[] = {FP_EMULATED_CUT_BEFORE, FP_EMULATED_CUT_TORN,
                                                FP_EMULATED_CUT_AFTER};
    uint32_t torn_programs = 0, torn_erases = 0;
    for (uint32_t round = 0; round < 300; round++) {
        struct fp_emulated_config config = shape;
        config.seed = round;
        enum fp_emulated_cut how = cuts[round % 3];
        struct fp_emulated *medium = open_or_fail(&config);
        const struct fp_medium *nand = fp_emulated_medium(medium);
        test_at("round %u", (unsigned)round);
        EXPECT_EQ(nand_program(medium, 0, 0, 0x0f), 0);

        fp_emulated_cut_power(medium, 2, how);
        EXPECT_EQ(nand_program(medium, 0, 1, 0x00), 0);
        EXPECT(!fp_emulated_is_off(medium));
        EXPECT_EQ(nand_program(medium, 0, 2, 0x3c), FP_MEDIUM_IO);
        EXPECT(fp_emulated_is_off(medium));
        EXPECT_EQ(nand_read(medium, 0, 0, 1), FP_MEDIUM_IO);
        EXPECT_EQ(nand_program(medium, 0, 3, 0), FP_MEDIUM_IO);
        EXPECT_EQ(nand_erase(medium, 0), FP_MEDIUM_IO);
        EXPECT_EQ(nand->mark_bad(nand->context, 1), FP_MEDIUM_IO);
        fp_emulated_power_on(medium);
        EXPECT(!fp_emulated_is_bad(medium, 1));
        EXPECT(holds(page_at(medium, 0, 0), 0x0f, PAGE));
        EXPECT(holds(page_at(medium, 0, 1), 0x00, PAGE));
        EXPECT(holds(page_at(medium, 0, 3), 0xff, PAGE));
        const uint8_t *cut = page_at(medium, 0, 2);
        if (how == FP_EMULATED_CUT_BEFORE)
            EXPECT(holds(cut, 0xff, PAGE));
        if (how == FP_EMULATED_CUT_AFTER)
            EXPECT(holds(cut, 0x3c, PAGE));
        for (uint32_t i = 0; i < PAGE; i++)
            EXPECT_EQ(cut[i] & 0x3c, 0x3c); /* a cell loses only bits that were to be programmed */
        torn_programs += how == FP_EMULATED_CUT_TORN && !holds(cut, 0xff, PAGE) &&
                         !holds(cut, 0x3c, PAGE);

        EXPECT_EQ(nand_program(medium, 0, 3, 0x3c), 0);
        fp_emulated_cut_power(medium, 1, how);
        EXPECT_EQ(nand_erase(medium, 0), FP_MEDIUM_IO);
        fp_emulated_power_on(medium);
        EXPECT_EQ(fp_emulated_wear(medium, 0), how != FP_EMULATED_CUT_BEFORE);
        if (how == FP_EMULATED_CUT_BEFORE)
            EXPECT(holds(page_at(medium, 0, 1), 0x00, PAGE));
        if (how == FP_EMULATED_CUT_AFTER)
            EXPECT(holds(page_at(medium, 0, 0), 0xff, PAGE * PAGES));
        torn_erases += how == FP_EMULATED_CUT_TORN &&
                       !holds(page_at(medium, 0, 1), 0x00, PAGE) &&
                       !holds(page_at(medium, 0, 1), 0xff, PAGE);
        EXPECT_EQ(nand_erase(medium, 0), 0);
        EXPECT_EQ(nand_program(medium, 0, 0, 0x77), 0);
        fp_emulated_close(medium);
    }
    EXPECT(torn_programs > 30 && torn_erases > 10);
}

static void same_seed_same_medium(void)
{
    struct fp_emulated_config config = shape;
    config.program_fail_ppm = config.erase_fail_ppm = 200000;
    config.factory_bad = 2;
    uint8_t bytes[3][PAGE * PAGES * BLOCKS];
    for (uint32_t turn = 0; turn < 3; turn++) {
        config.seed = turn < 2;
        struct fp_emulated *medium = open_or_fail(&config);
        fp_emulated_cut_power(medium, 150, FP_EMULATED_CUT_TORN);
        for (uint32_t i = 0; i < 200 && !fp_emulated_is_off(medium); i++)
            if (!fp_emulated_is_bad(medium, i % BLOCKS) && !nand_erase(medium, i % BLOCKS))
                nand_program(medium, i % BLOCKS, 0, (uint8_t)i);
        EXPECT(fp_emulated_is_off(medium));
        memcpy(bytes[turn], fp_emulated_bytes(medium), sizeof(bytes[turn]));
        fp_emulated_close(medium);
    }
    EXPECT(!memcmp(bytes[0], bytes[1], sizeof(bytes[0])));
    EXPECT(memcmp(bytes[0], bytes[2], sizeof(bytes[0])));
}

static void program_again(void *argument)
{
    struct fp_emulated *medium = open_or_fail(argument);
    nand_program(medium, 2, 1, 0);
}

static void expect_refused(const struct fp_emulated_config *config)
{
    errno = 0;
    EXPECT(!fp_emulated_open(config));
    EXPECT_EQ(errno, EEXIST);
}

static void in_a_file(void)
{
    char path[] = "build/emulated-XXXXXX";
    int file = mkstemp(path);
    EXPECT(file >= 0);
    struct fp_emulated_config config = shape;
    config.path = path;
    config.factory_bad = 1;
    struct fp_emulated *medium = open_or_fail(&config); /* an empty file becomes a medium */
    uint32_t block = 2, grown = 6, factory_bad = 0;
    while (!fp_emulated_is_bad(medium, factory_bad))
        factory_bad++;
    EXPECT(factory_bad != block && factory_bad != grown); /* as the seed determines */
    EXPECT_EQ(nand_erase(medium, block), 0);
    EXPECT_EQ(nand_program(medium, block, 0, 0x41), 0);
    EXPECT_EQ(nand_program(medium, block, 1, 0x42), 0);
    const struct fp_medium *nand = fp_emulated_medium(medium);
    EXPECT_EQ(nand->mark_bad(nand->context, grown), 0);
    fp_emulated_close(medium);

    /* The bytes are at their place in the file. */
    uint8_t byte;
    EXPECT_EQ(pread(file, &byte, 1, (block * PAGES + 1) * PAGE), 1);
    EXPECT_EQ(byte, 0x42);

    medium = open_or_fail(&config);
    EXPECT(holds(page_at(medium, block, 0), 0x41, PAGE));
    EXPECT_EQ(fp_emulated_wear(medium, block), 1);
    EXPECT(fp_emulated_is_bad(medium, grown) && fp_emulated_is_bad(medium, factory_bad));
    fp_emulated_close(medium);
    EXPECT(test_aborts(program_again, &config, "program twice"));

    struct fp_emulated_config other = config;
    other.block_count--;
    expect_refused(&other); /* of another size */
    other = config;
    other.program_bytes /= 2;
    expect_refused(&other); /* of the same size, and another shape */
    EXPECT_EQ(pwrite(file, "x", 1, PAGE * PAGES * BLOCKS), 1);
    expect_refused(&config); /* no header */
    EXPECT(!ftruncate(file, 100));
    expect_refused(&config);
    close(file);
    unlink(path);

    config.path = "build/no-such-directory/medium";
    EXPECT(!fp_emulated_open(&config));
    EXPECT_EQ(errno, ENOENT);
    config.path = "build";
    EXPECT(!fp_emulated_open(&config));
    EXPECT_EQ(errno, EISDIR);
}

static const struct test tests[] = {
    {"emulated_fresh", fresh},
    {"emulated_impossible_shapes", impossible_shapes},
    {"emulated_illegal_use_aborts", illegal_use_aborts},
    {"emulated_data_register", data_register},
    {"emulated_rewrites_in_place", rewrites_in_place},
    {"emulated_wears_out", wears_out},
    {"emulated_failures", failures},
    {"emulated_power_cuts", power_cuts},
    {"emulated_same_seed_same_medium", same_seed_same_medium},
    {"emulated_in_a_file", in_a_file},
    {0},
};

TEST_LIST(tests)
