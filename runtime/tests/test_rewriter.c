/* The rewriter with outcomes that are known by construction. */
#include "../swap/flashpager_swap.h"
#include "test.h"

#include <string.h>

/* A NAND of 8 blocks of 4 flash pages of 64 bytes, which records what it does. */
static struct {
    uint8_t bytes[8][256];
    bool bad[8];
    uint32_t next[8]; /* next flash page to program */
    uint32_t erases;
    uint32_t programs;
    uint32_t reads;
    uint32_t fail_erase;
    uint32_t fail_program;
} nand;

static bool fails(uint32_t *countdown)
{
    return *countdown && !--*countdown;
}

static int nand_read(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    (void)context;
    nand.reads++;
    memcpy(data, nand.bytes[block] + offset, size);
    return 0;
}

static int nand_program(void *context, uint32_t block, uint32_t offset, const void *data,
                        uint32_t size)
{
    (void)context;
    EXPECT(size == 64 && offset == 64 * nand.next[block]++ && !nand.bad[block]);
    nand.programs++;
    if (fails(&nand.fail_program))
        return FP_MEDIUM_IO;
    memcpy(nand.bytes[block] + offset, data, size);
    return 0;
}

static int nand_erase(void *context, uint32_t block)
{
    (void)context;
    EXPECT(!nand.bad[block]);
    nand.erases++;
    nand.next[block] = 0;
    memset(nand.bytes[block], 0xff, 256);
    return fails(&nand.fail_erase) ? FP_MEDIUM_IO : 0;
}

static bool nand_is_bad(void *context, uint32_t block)
{
    (void)context;
    return nand.bad[block];
}

static int nand_mark_bad(void *context, uint32_t block)
{
    (void)context;
    nand.bad[block] = true;
    return 0;
}

static void rewriter_caches_one_block(void)
{
    static const struct fp_medium medium = {.read = nand_read,
                                                 .program = nand_program,
                                                 .erase = nand_erase,
                                                 .is_bad = nand_is_bad,
                                                 .mark_bad = nand_mark_bad,
                                                 .program_bytes = 64,
                                                 .block_bytes = 256,
                                                 .block_count = 8};
    struct fp_swap_rewriter rewriter;
    uint8_t cache[256], got[4];
    uint32_t good[8];
    memset(&nand, 0, sizeof(nand));
    nand.bad[0] = nand.bad[3] = true;
    EXPECT_EQ(fp_swap_rewriter_init(&rewriter, &medium, cache, good), FP_SWAP_OK);
    EXPECT_EQ(rewriter.medium.block_count, 5); /* 6 good blocks, one of them a spare */
    const struct fp_medium *bytes = &rewriter.medium;

    EXPECT_EQ(bytes->program(bytes->context, 1, 10, "abcd", 4), 0);
    EXPECT_EQ(bytes->program(bytes->context, 1, 12, "xy", 2), 0);
    EXPECT_EQ(bytes->read(bytes->context, 1, 10, got, 4), 0);
    EXPECT(!memcmp(got, "abxy", 4));
    EXPECT(nand.erases == 0 && nand.programs == 0 && nand.reads == 1);
    /* Another block: this one is erased and programmed whole. Reading does not change it. */
    EXPECT_EQ(bytes->read(bytes->context, 4, 0, got, 4), 0);
    EXPECT_EQ(nand.erases, 0);
    EXPECT_EQ(bytes->program(bytes->context, 2, 0, "efgh", 4), 0);
    EXPECT(nand.erases == 1 && nand.programs == 4);
    EXPECT(!memcmp(nand.bytes[2] + 10, "abxy", 4));
    EXPECT_EQ(bytes->read(bytes->context, 1, 10, got, 4), 0);
    EXPECT(!memcmp(got, "abxy", 4));

    /* A program fails: the spare block, 7, gets all of it. */
    nand.fail_program = 3;
    EXPECT_EQ(fp_swap_rewriter_flush(&rewriter), FP_SWAP_OK);
    EXPECT(nand.bad[4] && !memcmp(nand.bytes[7], "efgh", 4));
    EXPECT_EQ(fp_swap_rewriter_flush(&rewriter), FP_SWAP_OK);
    EXPECT_EQ(nand.erases, 3);
    /* An erase fails, and there is no spare: the block stays in memory. */
    EXPECT_EQ(bytes->program(bytes->context, 2, 4, "ijkl", 4), 0);
    nand.fail_erase = 1;
    EXPECT_EQ(bytes->program(bytes->context, 0, 0, "mnop", 4), FP_MEDIUM_IO);
    EXPECT_EQ(bytes->read(bytes->context, 2, 0, got, 4), 0);
    EXPECT(!memcmp(got, "efgh", 4));
    EXPECT_EQ(bytes->program(bytes->context, 0, 0, "mnop", 4), 0);
    EXPECT(!memcmp(nand.bytes[7], "efghijkl", 8));
}

static const struct test tests[] = {
    {"rewriter_caches_one_block", rewriter_caches_one_block},
    {0},
};

TEST_LIST(tests)
