/* Promises of the log beside power cuts: failing reads, stores of other versions, numbers that
 * wrap, bounds of writes and mounts, idle time. */
#include "../swap/log/log_internal.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static const struct rig_shape small = {
    .layout = RIG_LOG,
    .medium = {.program_bytes = 256, .block_bytes = 4096, .block_count = 20},
    .page_bytes = 256,
    .slot_count = 100,
};

/* The 32 MiB of the figures in benches/measured.md. */
static const struct rig_shape large = {
    .layout = RIG_LOG,
    .medium = {.program_bytes = 2048, .block_bytes = 131072, .block_count = 256},
    .page_bytes = 4096,
    .slot_count = 6500,
    .raw = true,
};

static void open_worked(struct rig *rig, struct history *history, const struct rig_shape *shape,
                        uint64_t *random, uint32_t calls)
{
    rig_open(rig, shape);
    history_open(history, shape->slot_count);
    EXPECT_EQ(rig_format(rig), FP_SWAP_OK);
    work(rig, history, random, calls);
    EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_OK);
    history_sync(history);
}

static void close_both(struct rig *rig, struct history *history)
{
    history_close(history);
    rig_close(rig);
}

static uint64_t reads_of(const struct rig *rig)
{
    struct fp_emulated_counters counters;
    fp_emulated_counters(rig->emulated, &counters);
    return counters.reads;
}

static uint64_t operations_of(const struct rig *rig)
{
    struct fp_emulated_counters counters;
    fp_emulated_counters(rig->emulated, &counters);
    return counters.reads + counters.programs + counters.erases;
}

/* Fills a page with random bytes and a number. */
static void fill(uint8_t *page, uint32_t page_bytes, uint32_t number)
{
    uint64_t random = number;
    for (uint32_t at = 0; at < page_bytes; at += 4) {
        uint32_t four = (uint32_t)random_next(&random);
        memcpy(page + at, &four, 4);
    }
}

/* A medium without a store, with one of VERSION 2, of another shape, and of this one. */
static void other_versions(void)
{
    static const uint8_t version_2[] = {0x46, 0x50, 0x53, 0x57};
    struct rig rig;
    rig_open(&rig, &small);
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_NO_STORE);
    memcpy(fp_emulated_bytes(rig.emulated), version_2, sizeof(version_2));
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OTHER);
    EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_INVALID);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
    rig.config.slot_count--;
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OTHER);
    rig.config.slot_count++;
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
    rig_check(&rig);
    rig_close(&rig);
}

/* Reads fail one to four times in a row, anywhere. */
static void reads_again(void)
{
    uint32_t first = test_first(), rounds = test_rounds(40);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        struct rig rig;
        struct history history;
        uint64_t random = seed;
        open_worked(&rig, &history, &small, &random, 300 + seed);
        for (uint32_t turn = 0; turn < 60; turn++) {
            test_at("seed %u, turn %u", (unsigned)seed, (unsigned)turn);
            for (uint32_t call = 0; call < 20; call++) {
                rig.failing_reads = random_below(&random, 5);
                work(&rig, &history, &random, 1);
            }
            EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
            history_sync(&history);
            rig.failing_reads_at = turn;
            rig.failing_reads = 1 + turn % 4;
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
            rig.failing_reads = 0;
            rig.failing_reads_at = 0;
            rig_check(&rig);
            history_recover(&history, &rig);
        }
        close_both(&rig, &history);
    }
}

/* All reads fail, from some moment on, for a while or until the mount is over. An unreadable medium
 * is no reason to make a new store, or to restore an older state. */
static void blind_mounts(void)
{
    uint32_t failed = 0, found = 0;
    for (uint32_t from = 0; from < 60; from++) {
        for (uint32_t count = 1; count < 200; count += count < 40 ? 1 : 40) {
            struct rig rig;
            struct history history;
            uint64_t random = from;
            test_at("%u reads fail from %u on", (unsigned)count, (unsigned)from);
            open_worked(&rig, &history, &small, &random, 400);
            rig.failing_reads_at = from;
            rig.failing_reads = count < 190 ? count : UINT32_MAX;
            int error = rig_mount(&rig);
            if (error)
                EXPECT_EQ(error, FP_SWAP_IO);
            failed += error != FP_SWAP_OK;
            found += error == FP_SWAP_OK;
            rig.failing_reads = 0;
            rig.failing_reads_at = 0;
            if (error)
                EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
            rig_check(&rig);
            history_recover(&history, &rig);
            close_both(&rig, &history);
        }
    }
    EXPECT(failed > 20 && found > 20);
}

/* The same in use: calls fail, and change nothing. */
static void blind_in_use(void)
{
    uint32_t refused = 0;
    uint32_t first = test_first(), rounds = test_rounds(100);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        struct rig rig;
        struct history history;
        uint64_t random = seed;
        uint8_t page[RIG_PAGE_BYTES_MAX];
        test_at("seed %u", (unsigned)seed);
        open_worked(&rig, &history, &small, &random, 1500);
        for (uint32_t turn = 0; turn < 20; turn++) {
            rig.blind = true;
            for (uint32_t call = 0; call < 60; call++) {
                uint32_t slot = random_below(&random, small.slot_count);
                uint32_t version = history_now(&history, slot);
                int error = fp_swap_read(&rig.store, slot, page);
                EXPECT(error == FP_SWAP_IO || error == (version ? FP_SWAP_OK : FP_SWAP_EMPTY));
                if (!error)
                    EXPECT(page_is(page, small.page_bytes, slot, version));
                version = ++history.last_version;
                page_fill(page, small.page_bytes, slot, version);
                history_put(&history, slot, version);
                error = fp_swap_write(&rig.store, slot, page);
                if (error) {
                    EXPECT(error == FP_SWAP_IO || error == FP_SWAP_FULL);
                    history_undo(&history, slot);
                    refused++;
                }
            }
            rig.blind = false;
            rig_check(&rig);
            for (uint32_t slot = 0; slot < small.slot_count; slot++) {
                uint32_t version = history_now(&history, slot);
                EXPECT_EQ(fp_swap_read(&rig.store, slot, page),
                          version ? FP_SWAP_OK : FP_SWAP_EMPTY);
                if (version)
                    EXPECT(page_is(page, small.page_bytes, slot, version));
            }
            work(&rig, &history, &random, 50);
        }
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        history_sync(&history);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        history_recover(&history, &rig);
        close_both(&rig, &history);
    }
    EXPECT(refused > 0);
}

/* The number of a meta block has 32 bits and wraps. It is brought there in steps that keep the
 * order of those on the medium. */
static void generations_wrap(void)
{
    for (uint32_t before = 1; before < 24; before++) {
        struct rig rig;
        struct history history;
        uint64_t random = before;
        open_worked(&rig, &history, &small, &random, 200);
        for (uint32_t turn = 0; turn < 400; turn++) {
            test_at("%u openings before, turn %u", (unsigned)before, (unsigned)turn);
            if (turn == 60 || turn == 120)
                rig.store.of.log.generation += 0x60000000u;
            if (turn == 180)
                rig.store.of.log.generation = 0u - before;
            work(&rig, &history, &random, 30);
            if (random_below(&random, 3)) {
                EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
                history_sync(&history);
            }
            /* A mount goes on from the numbers on the medium. */
            const struct fp_swap_log_state *log = &rig.store.of.log;
            if (log->blocks[log->meta].stamp == log->generation && random_below(&random, 4) == 0) {
                EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
                history_recover(&history, &rig);
            }
            rig_check(&rig);
        }
        EXPECT(rig.store.of.log.generation < 10000);
        close_both(&rig, &history);
    }
}

/* Returns the most operations that a write took; other calls are not bounded. */
static uint32_t most_of_a_write(struct rig *rig, uint64_t *random, uint32_t writes)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint32_t slots = rig->shape.slot_count, most = 0;
    uint32_t bound = fp_swap_log_write_bound(&rig->config);
    EXPECT(bound > 0);
    for (uint32_t call = 0; call < writes; call++) {
        uint32_t what = call < slots ? 0 : random_below(random, 100);
        uint32_t slot = call < slots                ? call
                        : random_below(random, 4)   ? random_below(random, slots / 10 + 1)
                                                    : random_below(random, slots);
        if (what == 1) {
            EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_OK);
            continue;
        }
        if (what == 2) {
            EXPECT_EQ(fp_swap_free(&rig->store, slot), FP_SWAP_OK);
            continue;
        }
        if (rig->shape.raw)
            fill(page, rig->shape.page_bytes, call);
        else
            page_fill(page, rig->shape.page_bytes, slot, call + 1);
        uint64_t before = operations_of(rig);
        int error = fp_swap_write(&rig->store, slot, page);
        EXPECT(error == FP_SWAP_OK || error == FP_SWAP_FULL);
        uint32_t took = (uint32_t)(operations_of(rig) - before);
        if (took > bound)
            FAIL("call %u: %u operations, more than %u", (unsigned)call, (unsigned)took,
                 (unsigned)bound);
        most = took > most ? took : most;
    }
    return most;
}

static void writes_are_bounded(void)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        struct rig rig;
        struct rig_shape shape = small;
        uint64_t random = seed;
        if (seed % 3 == 1) {
            shape.medium.program_bytes = 512;
            shape.medium.block_bytes = 16384;
            shape.page_bytes = 1024;
            shape.slot_count = 130;
        }
        shape.raw = seed % 2 == 0;
        if (seed % 3 == 2)
            shape.slot_count = 160; /* full */
        shape.medium.seed = seed;
        test_at("seed %u", (unsigned)seed);
        rig_open(&rig, &shape);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        EXPECT(most_of_a_write(&rig, &random, 20000) > 0);
        rig_check(&rig);
        rig_close(&rig);
    }
}

static void writes_are_bounded_large(void)
{
    struct rig rig;
    uint64_t random = 1;
    rig_open(&rig, &large);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    uint32_t most = most_of_a_write(&rig, &random, 40000);
    test_at("%u operations", (unsigned)most);
    /* A victim of 64 flash pages, read and written again. */
    EXPECT(most < 1000);
    rig_close(&rig);
}

/* A store as full as possible, and a power cut after every few writes: there is always space for a
 * page in place of one as large. */
static void room_after_cuts(void)
{
    static const uint32_t writes_between[] = {1, 2, 3, 7, 20, 60};
    static const struct rig_shape shapes[] = {
        {.medium = {.program_bytes = 512, .block_bytes = 16384, .block_count = 128},
         .page_bytes = 1024, .slot_count = 2048},
        {.medium = {.program_bytes = 2048, .block_bytes = 32768, .block_count = 64},
         .page_bytes = 4096, .slot_count = 500},
        {.medium = {.program_bytes = 256, .block_bytes = 8192, .block_count = 24},
         .page_bytes = 512, .slot_count = 300},
        {.medium = {.program_bytes = 512, .block_bytes = 16384, .block_count = 128},
         .page_bytes = 2048, .slot_count = 1024},
        {.medium = {.program_bytes = 1024, .block_bytes = 16384, .block_count = 200},
         .page_bytes = 1024, .slot_count = 3200},
    };
    uint8_t page[RIG_PAGE_BYTES_MAX];
    for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (uint32_t n = 0; n < sizeof(writes_between) / sizeof(writes_between[0]); n++) {
            struct rig rig;
            struct rig_shape shape = shapes[i];
            uint64_t random = n;
            uint32_t slots = 0;
            shape.layout = RIG_LOG;
            shape.raw = true;
            rig_open(&rig, &shape);
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            for (; slots < shape.slot_count; slots++) {
                fill(page, shape.page_bytes, slots);
                int error = fp_swap_write(&rig.store, slots, page);
                if (error == FP_SWAP_FULL)
                    break;
                EXPECT_EQ(error, FP_SWAP_OK);
            }
            EXPECT(slots < shape.slot_count);
            for (uint32_t write = 0; write < 3000; write++) {
                test_at("shape %u, %u writes between, write %u", (unsigned)i,
                        (unsigned)writes_between[n], (unsigned)write);
                if (write % writes_between[n] == 0) {
                    if (random_below(&random, 2))
                        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
                    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
                }
                fill(page, shape.page_bytes, (uint32_t)random_next(&random));
                EXPECT_EQ(fp_swap_write(&rig.store, random_below(&random, slots), page),
                          FP_SWAP_OK);
            }
            rig_check(&rig);
            rig_close(&rig);
        }
    }
}

/* Flash pages that a mount reads. */
static void mounts_read_little(void)
{
    struct rig rig;
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint64_t random = 1;
    uint32_t pages = large.medium.block_count * (large.medium.block_bytes /
                                                 large.medium.program_bytes);
    uint32_t after_sync = 0, after_cut = 0;
    rig_open(&rig, &large);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    for (uint32_t slot = 0; slot < large.slot_count; slot++) {
        fill(page, large.page_bytes, slot);
        EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
    }
    for (uint32_t turn = 0; turn < 60; turn++) {
        uint32_t calls = random_below(&random, 600);
        bool synced = turn % 2;
        test_at("turn %u", (unsigned)turn);
        if (!synced)
            fp_emulated_cut_power(rig.emulated, 1 + random_below(&random, 1000),
                                  (enum fp_emulated_cut)random_below(&random, 3));
        for (uint32_t call = 0; (synced ? call < calls : !fp_emulated_is_off(rig.emulated));
             call++) {
            fill(page, large.page_bytes, (uint32_t)random_next(&random));
            (void)fp_swap_write(&rig.store, random_below(&random, large.slot_count), page);
        }
        if (synced)
            EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        fp_emulated_power_on(rig.emulated);
        uint64_t before = reads_of(&rig);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        uint32_t took = (uint32_t)(reads_of(&rig) - before);
        if (synced)
            after_sync = took > after_sync ? took : after_sync;
        else
            after_cut = took > after_cut ? took : after_cut;
    }
    test_at("%u and %u of %u pages", (unsigned)after_sync, (unsigned)after_cut, (unsigned)pages);
    EXPECT(after_sync <= pages / 100);
    EXPECT(after_cut <= pages / 20);
    rig_close(&rig);
}

/* Idle time ends, loses nothing, and saves later work. */
static void idle(void)
{
    static const struct rig_shape fragments = {
        .layout = RIG_FRAGMENTS,
        .medium = {.program_bytes = 1, .block_bytes = 4096, .block_count = 4},
        .page_bytes = 256,
        .slot_count = 48,
        .chunk_count = 96,
    };
    struct rig rig;
    struct history history;
    uint64_t random = 1;
    EXPECT_EQ(fp_swap_idle(NULL), FP_SWAP_INVALID);
    rig_open(&rig, &fragments);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    EXPECT_EQ(fp_swap_idle(&rig.store), 0);
    rig_close(&rig);

    uint32_t worked = 0;
    for (uint32_t seed = 0; seed < 20; seed++) {
        test_at("seed %u", (unsigned)seed);
        open_worked(&rig, &history, &small, &random, 600 + 50 * seed);
        for (uint32_t turn = 0; turn < 20; turn++) {
            uint32_t calls = 0;
            int more;
            do {
                uint64_t before = operations_of(&rig);
                more = fp_swap_idle(&rig.store);
                EXPECT(more == 0 || more == 1);
                EXPECT(operations_of(&rig) - before <= fp_swap_log_write_bound(&rig.config));
                EXPECT(++calls < 10000);
            } while (more);
            worked += calls > 1;
            EXPECT_EQ(fp_swap_idle(&rig.store), 0);
            rig_check(&rig);
            struct fp_swap_stat before, after;
            fp_swap_stat(&rig.store, &before);
            work(&rig, &history, &random, 3);
            fp_swap_stat(&rig.store, &after);
            /* One victim may be begun when there is less space by these three. */
            EXPECT(after.moved_size - before.moved_size <= rig.medium.block_bytes);
            work(&rig, &history, &random, 50);
            if (turn % 4 == 3) {
                EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
                history_recover(&history, &rig);
            }
        }
        close_both(&rig, &history);
    }
    EXPECT(worked > 10);
}

static const struct test tests[] = {
    {"log_other_versions", other_versions},
    {"log_reads_again", reads_again},
    {"log_blind_mounts", blind_mounts},
    {"log_blind_in_use", blind_in_use},
    {"log_generations_wrap", generations_wrap},
    {"log_writes_are_bounded", writes_are_bounded},
    {"log_writes_are_bounded_large", writes_are_bounded_large},
    {"log_room_after_cuts", room_after_cuts},
    {"log_mounts_read_little", mounts_read_little},
    {"log_idle", idle},
    {0},
};

TEST_LIST(tests)
