/* Long random runs against a plain map. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

/* Runs random calls; `map` has the version of each slot, 0 for none. Returns the number of
 * refused writes. */
static uint32_t run(struct rig *rig, uint32_t *map, uint64_t *random, uint32_t calls,
                    uint32_t check_every)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint32_t page_bytes = rig->shape.page_bytes, refused = 0, pages = 0;
    for (uint32_t slot = 0; slot < rig->shape.slot_count; slot++)
        pages += map[slot] != 0;
    for (uint32_t call = 1; call <= calls; call++) {
        uint64_t draw = random_next(random);
        uint32_t choice = (uint32_t)draw % 128;
        uint32_t slot = (uint32_t)((draw >> 32) * rig->shape.slot_count >> 32);
        int error;
        if (choice < 50) {
            uint32_t version = (uint32_t)(draw >> 16) | 1u;
            page_fill(page, page_bytes, slot, version);
            error = fp_swap_write(&rig->store, slot, page);
            if (error == FP_SWAP_FULL) {
                refused++;
            } else if (error) {
                FAIL("call %u: write gives %d", (unsigned)call, error);
            } else {
                pages += map[slot] == 0;
                map[slot] = version;
            }
        } else if (choice < 64) {
            error = fp_swap_free(&rig->store, slot);
            if (error)
                FAIL("call %u: free gives %d", (unsigned)call, error);
            pages -= map[slot] != 0;
            map[slot] = 0;
        } else if (choice < 127) {
            error = fp_swap_read(&rig->store, slot, page);
            if (error != (map[slot] ? FP_SWAP_OK : FP_SWAP_EMPTY))
                FAIL("call %u: read of slot %u gives %d", (unsigned)call, (unsigned)slot, error);
            if (!error && !page_is(page, page_bytes, slot, map[slot]))
                FAIL("call %u: slot %u reads another page", (unsigned)call, (unsigned)slot);
        } else if ((draw >> 7) % 8 == 0) {
            EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_OK);
        }
        if (call % check_every == 0) {
            struct fp_swap_stat stat;
            test_at("call %u", (unsigned)call);
            rig_check(rig);
            fp_swap_stat(&rig->store, &stat);
            EXPECT_EQ(stat.pages, pages);
            EXPECT_EQ(stat.lost_pages, 0);
            EXPECT_EQ(stat.orig_data_size, (uint64_t)pages * page_bytes);
            EXPECT(stat.mem_used_total <= stat.mem_limit);
        }
    }
    return refused;
}

static uint32_t run_shape(const struct rig_shape *shape, uint32_t calls, uint32_t check_every)
{
    struct rig rig;
    uint64_t random = shape->medium.seed;
    uint32_t *map = calloc(shape->slot_count, sizeof(*map));
    EXPECT(map);
    rig_open(&rig, shape);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    uint32_t refused = run(&rig, map, &random, test_rounds(calls), check_every);
    if (shape->layout == RIG_LOG) {
        rig_check_wear(&rig);
        /* A mount finds the same pages on the medium. */
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        refused += run(&rig, map, &random, 1000, 1000);
        rig_check_wear(&rig);
    }
    rig_close(&rig);
    free(map);
    return refused;
}

static void log_many_calls(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = 256,
                   .block_bytes = 4096,
                   .block_count = 64,
                   .seed = 1,
                   .factory_bad = 3,
                   .program_fail_ppm = 3,
                   .erase_fail_ppm = 20,
                   .corrected_ppm = 10},
        .page_bytes = 16,
        .slot_count = 2000,
    };
    EXPECT_EQ(run_shape(&shape, 10000000, 200000), 0);
}

/* The store is so full that some writes are refused. */
static void log_full(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = 256, .block_bytes = 2048, .block_count = 32, .seed = 2},
        .page_bytes = 64,
        .slot_count = 600,
    };
    EXPECT(run_shape(&shape, 300000, 5000) > 100);
}

static void log_large_pages(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = 512, .block_bytes = 16384, .block_count = 24, .seed = 3},
        .page_bytes = 4096,
        .slot_count = 60,
    };
    run_shape(&shape, 30000, 2000);
}

static void log_raw(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = 512, .block_bytes = 8192, .block_count = 24, .seed = 4},
        .page_bytes = 512,
        .slot_count = 200,
        .raw = true,
    };
    run_shape(&shape, 100000, 5000);
}

static void fragments_many_calls(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_FRAGMENTS,
        .medium = {.program_bytes = 1, .block_bytes = 65536, .block_count = 2, .seed = 5},
        .page_bytes = 16,
        .slot_count = 2000,
        .chunk_count = 4000,
    };
    EXPECT_EQ(run_shape(&shape, 10000000, 500000), 0);
}

static void fragments_full(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_FRAGMENTS,
        .medium = {.program_bytes = 1, .block_bytes = 4096, .block_count = 5, .seed = 6},
        .page_bytes = 128,
        .slot_count = 400,
        .chunk_count = 600,
    };
    EXPECT(run_shape(&shape, 300000, 5000) > 100);
}

/* The store has the fewest chunks. */
static void fragments_few_chunks(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_FRAGMENTS,
        .medium = {.program_bytes = 1, .block_bytes = 10000, .block_count = 3, .seed = 7},
        .page_bytes = 256,
        .slot_count = 100,
        .chunk_count = 101,
    };
    run_shape(&shape, 300000, 5000);
}

static void rewriter(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_REWRITER,
        .medium = {.program_bytes = 256,
                   .block_bytes = 2048,
                   .block_count = 32,
                   .seed = 8,
                   .factory_bad = 3},
        .page_bytes = 128,
        .slot_count = 300,
        .chunk_count = 450,
    };
    run_shape(&shape, 300000, 5000);
}

/* Runs until the medium is worn out: what was accepted can be read, and what has no space is
 * refused. */
static void log_wears_out(void)
{
    uint32_t first = test_first(), rounds = test_rounds(15);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        struct rig_shape shape = {
            .layout = RIG_LOG,
            .medium = {.program_bytes = 256,
                       .block_bytes = 2048,
                       .block_count = 24,
                       .seed = seed,
                       .factory_bad = seed % 3,
                       .endurance_cycles = 30,
                       .program_fail_ppm = seed % 2 ? 1000 : 0,
                       .corrected_ppm = seed % 5 ? 0 : 1000},
            .page_bytes = 128,
            .slot_count = 120,
        };
        struct rig rig;
        uint8_t page[RIG_PAGE_BYTES_MAX];
        uint32_t map[120] = {0};
        uint64_t random = seed;
        int error = FP_SWAP_OK;
        uint32_t calls = 0;
        test_at("seed %u", (unsigned)seed);
        rig_open(&rig, &shape);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        for (uint32_t failed = 0; failed < 1000; calls++) {
            uint32_t slot = random_below(&random, shape.slot_count);
            uint32_t version = calls + 1;
            page_fill(page, shape.page_bytes, slot, version);
            error = fp_swap_write(&rig.store, slot, page);
            if (!error)
                map[slot] = version;
            else
                EXPECT(error == FP_SWAP_FULL || error == FP_SWAP_IO);
            failed += error != 0;
            EXPECT(calls < 1000000);
            slot = random_below(&random, shape.slot_count);
            int result = fp_swap_read(&rig.store, slot, page);
            /* An I/O error leaves open what the slot holds. */
            if (result == FP_SWAP_OK)
                EXPECT(map[slot] && page_is(page, shape.page_bytes, slot, map[slot]));
            else if (error != FP_SWAP_IO)
                EXPECT_EQ(result, map[slot] ? FP_SWAP_OK : FP_SWAP_EMPTY);
        }
        /* 24 blocks of 30 cycles of 8 flash pages of 256 bytes are 11 500 records. */
        EXPECT(calls > 5000);
        rig_check(&rig);
        for (uint32_t slot = 0; slot < shape.slot_count; slot++) {
            int result = fp_swap_read(&rig.store, slot, page);
            if (map[slot])
                EXPECT(result == FP_SWAP_OK && page_is(page, shape.page_bytes, slot, map[slot]));
            else
                EXPECT_EQ(result, FP_SWAP_EMPTY);
        }
        rig_close(&rig);
    }
}

/* Half of the pages never change: their blocks wear with the others. */
static void log_levels_wear(void)
{
    static const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = 1024, .block_bytes = 32768, .block_count = 128, .seed = 9},
        .page_bytes = 1024,
        .slot_count = 3000,
        .raw = true,
    };
    struct rig rig;
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint64_t random = 9, sum = 0;
    uint32_t most = 0;
    rig_open(&rig, &shape);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    for (uint32_t call = 0; call < 150000; call++) {
        uint32_t slot = call < 3000 ? call : random_below(&random, 1500);
        page_fill(page, shape.page_bytes, slot, call + 1);
        EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
    }
    for (uint32_t block = 0; block < shape.medium.block_count; block++) {
        uint32_t wear = fp_emulated_wear(rig.emulated, block);
        sum += wear;
        most = wear > most ? wear : most;
    }
    test_at("%u of %u", (unsigned)most, (unsigned)(sum / shape.medium.block_count));
    EXPECT(sum / shape.medium.block_count > 40);
    /* Seeds 1 to 12 give 1.17 to 1.28. */
    EXPECT((uint64_t)most * shape.medium.block_count * 10 <= sum * 13);
    rig_close(&rig);
}

static const struct test tests[] = {
    {"random_log_many_calls", log_many_calls},
    {"random_log_full", log_full},
    {"random_log_large_pages", log_large_pages},
    {"random_log_raw", log_raw},
    {"random_log_wears_out", log_wears_out},
    {"random_log_levels_wear", log_levels_wear},
    {"random_fragments_many_calls", fragments_many_calls},
    {"random_fragments_full", fragments_full},
    {"random_fragments_few_chunks", fragments_few_chunks},
    {"random_rewriter", rewriter},
    {0},
};

TEST_LIST(tests)
