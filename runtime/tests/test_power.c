/* Power cuts at every program and erase of a run. */
#include "rig.h"

#include <string.h>

static const struct rig_shape small_log = {
    .layout = RIG_LOG,
    .medium = {.program_bytes = 256, .block_bytes = 2048, .block_count = 16},
    .page_bytes = 256,
    .slot_count = 48,
};

static enum fp_emulated_cut random_cut(uint64_t *random)
{
    static const enum fp_emulated_cut cuts[] = {FP_EMULATED_CUT_BEFORE, FP_EMULATED_CUT_TORN,
                                                FP_EMULATED_CUT_AFTER};
    return cuts[random_below(random, 3)];
}

/* Mounts after a cut, possibly with more cuts, and checks what is there. */
static void recover(struct rig *rig, struct history *history, uint64_t *random, bool formatted)
{
    for (;;) {
        fp_emulated_power_on(rig->emulated);
        fp_emulated_cut_power(rig->emulated,
                              random_below(random, 2) ? 1 + random_below(random, 4) : 0,
                              random_cut(random));
        int error = rig_mount(rig);
        if (error == FP_SWAP_NO_STORE && !formatted)
            error = rig_format(rig);
        if (fp_emulated_is_off(rig->emulated))
            continue;
        EXPECT_EQ(error, FP_SWAP_OK);
        break;
    }
    rig_check(rig);
    if (rig->shape.layout == RIG_LOG) {
        rig_check_wear(rig);
        history_recover(history, rig);
    }
}

static void cut_everywhere(const struct rig_shape *shape, uint32_t calls, uint64_t seed,
                           enum fp_emulated_cut how, uint32_t first, uint32_t step)
{
    for (uint32_t after = first;; after += step) {
        struct rig rig;
        struct history history;
        uint64_t random = seed;
        test_at("seed %u, cut %u, mode %d", (unsigned)seed, (unsigned)after, (int)how);
        rig_open(&rig, shape);
        history_open(&history, shape->slot_count);
        fp_emulated_cut_power(rig.emulated, after, how);
        int error = rig_format(&rig);
        bool formatted = !fp_emulated_is_off(rig.emulated);
        if (formatted) {
            EXPECT_EQ(error, FP_SWAP_OK);
            work(&rig, &history, &random, calls);
        }
        bool over = !fp_emulated_is_off(rig.emulated);
        random ^= (uint64_t)after << 32; /* each attempt goes on in its own way */
        for (uint32_t turn = 0; !over && turn < 4; turn++) {
            test_at("seed %u, cut %u, mode %d, mount %u", (unsigned)seed, (unsigned)after,
                    (int)how, (unsigned)turn);
            recover(&rig, &history, &random, formatted);
            formatted = true;
            if (random_below(&random, 2))
                fp_emulated_cut_power(rig.emulated, 1 + random_below(&random, 24),
                                      random_cut(&random));
            work(&rig, &history, &random, 10 + random_below(&random, 60));
        }
        /* Power is back: what was synced is there, to the last page. */
        fp_emulated_cut_power(rig.emulated, 0, FP_EMULATED_CUT_BEFORE);
        if (fp_emulated_is_off(rig.emulated)) {
            fp_emulated_power_on(rig.emulated);
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
            history_recover(&history, &rig);
        }
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        history_sync(&history);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        rig_check(&rig);
        rig_check_wear(&rig);
        history_recover(&history, &rig);
        history_close(&history);
        rig_close(&rig);
        if (over)
            break;
    }
}

static void cut_all(const struct rig_shape *shape, uint32_t calls)
{
    static const enum fp_emulated_cut cuts[] = {FP_EMULATED_CUT_BEFORE, FP_EMULATED_CUT_TORN,
                                                FP_EMULATED_CUT_AFTER};
    uint32_t step = SANITIZED && test_rounds(20) < 20 ? 7 : 1;
    for (uint32_t i = 0; i < 3; i++)
        cut_everywhere(shape, calls, shape->medium.seed + i, cuts[i], 1 + i % step, step);
}

static void everywhere(void)
{
    struct rig_shape shape = small_log;
    shape.medium.seed = 10;
    cut_all(&shape, 400);
}

static void everywhere_large_pages(void)
{
    struct rig_shape shape = small_log;
    shape.medium.seed = 20;
    shape.page_bytes = 512; /* two flash pages and more */
    shape.slot_count = 24;
    cut_all(&shape, 250);
}

static void everywhere_small_pages(void)
{
    struct rig_shape shape = small_log;
    shape.medium.seed = 30;
    shape.page_bytes = 32; /* many in a flash page */
    shape.slot_count = 150;
    cut_all(&shape, 1000);
}

static void everywhere_failing(void)
{
    struct rig_shape shape = small_log;
    shape.medium.seed = 40;
    shape.medium.block_count = 24;
    shape.medium.factory_bad = 2;
    shape.medium.program_fail_ppm = 8000;
    shape.medium.erase_fail_ppm = 8000;
    cut_all(&shape, 400);
}

static void everywhere_corrected(void)
{
    struct rig_shape shape = small_log;
    shape.medium.seed = 50;
    shape.medium.corrected_ppm = 20000;
    cut_all(&shape, 300);
}

/* Many seeds, each cut a few times at random. */
static void many_seeds(void)
{
    uint32_t first = test_first(), rounds = test_rounds(400);
    for (uint64_t seed = first; seed < first + rounds; seed++) {
        struct rig rig;
        struct history history;
        uint64_t random = seed;
        struct rig_shape shape = small_log;
        shape.medium.seed = seed;
        shape.page_bytes = 4 + 4 * random_below(&random, 160);
        shape.medium.program_bytes = 256u << random_below(&random, 3);
        shape.medium.block_bytes =
            shape.medium.program_bytes * (6 + random_below(&random, 12));
        if (shape.medium.block_bytes < shape.page_bytes * 3)
            shape.medium.block_bytes = shape.medium.program_bytes * 16;
        shape.medium.block_count = 16 + random_below(&random, 10);
        shape.slot_count = 1 + random_below(&random, 6 * shape.medium.block_bytes /
                                                         (shape.page_bytes + 16));
        if (random_below(&random, 2))
            shape.medium.program_fail_ppm = shape.medium.erase_fail_ppm = 2000;
        if (random_below(&random, 4) == 0)
            shape.medium.corrected_ppm = 10000;
        test_at("seed %u, pages of %u on %u of %u, %u blocks, %u slots", (unsigned)seed,
                (unsigned)shape.page_bytes, (unsigned)shape.medium.program_bytes,
                (unsigned)shape.medium.block_bytes, (unsigned)shape.medium.block_count,
                (unsigned)shape.slot_count);
        rig_open(&rig, &shape);
        history_open(&history, shape.slot_count);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        for (uint32_t turn = 0; turn < 12; turn++) {
            fp_emulated_cut_power(rig.emulated, 1 + random_below(&random, 60),
                                  random_cut(&random));
            work(&rig, &history, &random, 200);
            recover(&rig, &history, &random, true);
        }
        history_close(&history);
        rig_close(&rig);
    }
}

/* Mounts with one of two shapes. */
static int mount_as(struct rig *rig, const struct rig_shape *shape)
{
    rig->config.slot_count = shape->slot_count;
    rig->config.page_bytes = shape->page_bytes;
    rig->config.compressor = shape->raw ? NULL : &rle;
    rig->shape.page_bytes = shape->page_bytes;
    rig->shape.slot_count = shape->slot_count;
    return rig_mount(rig);
}

/* After a cut in a format from one shape to another, exactly one of both mounts: the old store as it
 * was, or the new one empty. Returns whether it is the new one. */
static bool is_formatted(struct rig *rig, struct history *history, const struct rig_shape *old,
                         const struct rig_shape *new, uint64_t *random)
{
    bool same = old->slot_count == new->slot_count && old->page_bytes == new->page_bytes &&
                old->raw == new->raw;
    for (;;) {
        bool first = random_below(random, 2);
        fp_emulated_power_on(rig->emulated);
        for (uint32_t turn = 0; turn < 2; turn++) {
            bool is_new = first == (turn == 0);
            fp_emulated_cut_power(rig->emulated,
                                  random_below(random, 2) ? 1 + random_below(random, 4) : 0,
                                  random_cut(random));
            int error = mount_as(rig, is_new ? new : old);
            if (fp_emulated_is_off(rig->emulated))
                break;
            fp_emulated_cut_power(rig->emulated, 0, FP_EMULATED_CUT_BEFORE);
            if (error == FP_SWAP_OTHER && !same && turn == 0)
                continue;
            EXPECT_EQ(error, FP_SWAP_OK);
            rig_check(rig);
            bool empty = true;
            for (uint32_t slot = 0; slot < rig->config.slot_count; slot++)
                empty = empty && !fp_swap_holds(&rig->store, slot);
            EXPECT(empty || same || !is_new);
            if (!empty)
                history_recover(history, rig);
            if (!same)
                EXPECT_EQ(mount_as(rig, is_new ? old : new), FP_SWAP_OTHER);
            EXPECT_EQ(mount_as(rig, is_new ? new : old), FP_SWAP_OK);
            return empty;
        }
    }
}

/* A format over a store is cut at each operation, of the same shape and of others, in mounts after it,
 * too: the old store is there, whole, or the new one. */
static void format_over_a_store(void)
{
    static const struct {
        uint32_t block_count, old_slots, new_slots, old_bytes, new_bytes;
        bool raw;
    } cases[] = {
        {16, 48, 48, 256, 256, false},   {16, 48, 20, 256, 256, false},
        {16, 20, 48, 256, 256, false},   {16, 48, 48, 256, 128, false},
        {16, 48, 48, 256, 256, true},
        /* The zones differ: the old one is larger, or the new one. */
        {160, 900, 20, 64, 256, false},  {160, 20, 900, 256, 64, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint32_t undone = 0, done = 0;
        for (uint32_t after = 1, over = 0; !over; after++) {
            for (uint32_t how = 0; how < 3; how++) {
                struct rig_shape old = small_log, new, most;
                struct rig rig;
                struct history history;
                uint64_t random = after;
                uint8_t page[RIG_PAGE_BYTES_MAX];
                old.medium.block_count = cases[i].block_count;
                old.slot_count = cases[i].old_slots;
                old.page_bytes = cases[i].old_bytes;
                new = most = old;
                new.slot_count = cases[i].new_slots;
                new.page_bytes = cases[i].new_bytes;
                new.raw = cases[i].raw;
                most.slot_count = old.slot_count > new.slot_count ? old.slot_count
                                                                  : new.slot_count;
                most.page_bytes = old.page_bytes > new.page_bytes ? old.page_bytes
                                                                  : new.page_bytes;
                test_at("case %u, cut %u, mode %u", (unsigned)i, (unsigned)after, (unsigned)how);
                rig_open(&rig, &most);
                rig.config.slot_count = rig.shape.slot_count = old.slot_count;
                rig.config.page_bytes = rig.shape.page_bytes = old.page_bytes;
                history_open(&history, old.slot_count);
                EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
                work(&rig, &history, &random, 300);
                EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
                history_sync(&history);
                fp_emulated_cut_power(rig.emulated, after, (enum fp_emulated_cut)how);
                rig.config.slot_count = new.slot_count;
                rig.config.page_bytes = new.page_bytes;
                rig.config.compressor = new.raw ? NULL : &rle;
                int error = rig_format(&rig);
                over = !fp_emulated_is_off(rig.emulated);
                fp_emulated_cut_power(rig.emulated, 0, FP_EMULATED_CUT_BEFORE);
                if (over)
                    EXPECT_EQ(error, FP_SWAP_OK);
                bool formatted = is_formatted(&rig, &history, &old, &new, &random);
                EXPECT(formatted || !over);
                done += formatted;
                undone += !formatted;
                for (uint32_t slot = 0; slot < rig.config.slot_count; slot++) {
                    page_fill(page, rig.config.page_bytes, slot, 7);
                    error = fp_swap_write(&rig.store, slot, page);
                    EXPECT(error == FP_SWAP_OK || error == FP_SWAP_FULL);
                }
                rig_check(&rig);
                history_close(&history);
                rig_close(&rig);
            }
        }
        EXPECT(done > 3 && undone > 3);
    }
}

/* The end of a process without a sync is a cut, too. */
static void mount_without_sync(void)
{
    struct rig rig;
    struct history history;
    uint64_t random = 3;
    rig_open(&rig, &small_log);
    history_open(&history, small_log.slot_count);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    for (uint32_t turn = 0; turn < 200; turn++) {
        test_at("turn %u", (unsigned)turn);
        work(&rig, &history, &random, 50);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        rig_check(&rig);
        history_recover(&history, &rig);
    }
    history_close(&history);
    rig_close(&rig);
}

/* A full store still takes, after a mount, a page in place of one as large. */
static void mount_of_a_full_store(void)
{
    struct rig_shape shape = small_log;
    struct rig rig;
    uint64_t random = 4;
    uint32_t full = 0;
    uint8_t page[RIG_PAGE_BYTES_MAX];
    shape.medium.program_bytes = 512;
    shape.medium.block_bytes = 14 * 512;
    shape.medium.block_count = 22;
    shape.page_bytes = 8;
    shape.slot_count = 2000;
    rig_open(&rig, &shape);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    for (uint32_t turn = 0; turn < 40; turn++) {
        test_at("turn %u", (unsigned)turn);
        for (uint32_t call = 0; call < 400; call++) {
            uint32_t slot = random_below(&random, shape.slot_count);
            if (random_below(&random, 5) == 0) {
                EXPECT_EQ(fp_swap_free(&rig.store, slot), FP_SWAP_OK);
                continue;
            }
            page_fill(page, shape.page_bytes, slot, 1 + call);
            int error = fp_swap_write(&rig.store, slot, page);
            EXPECT(error == FP_SWAP_OK || error == FP_SWAP_FULL);
            full += error == FP_SWAP_FULL;
        }
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        for (uint32_t slot = 0; slot < shape.slot_count; slot++)
            if (fp_swap_read(&rig.store, slot, page) == FP_SWAP_OK)
                EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
        rig_check(&rig);
    }
    EXPECT(full > 100);
    rig_close(&rig);
}

/* A store of fragments loses its pages with the power. */
static void fragments_are_volatile(void)
{
    static const struct rig_shape shapes[] = {
        {.layout = RIG_FRAGMENTS,
         .medium = {.program_bytes = 1, .block_bytes = 4096, .block_count = 4},
         .page_bytes = 256,
         .slot_count = 48,
         .chunk_count = 96},
        {.layout = RIG_REWRITER,
         .medium = {.program_bytes = 256, .block_bytes = 2048, .block_count = 8},
         .page_bytes = 256,
         .slot_count = 48,
         .chunk_count = 96},
    };
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t seed = 0; seed < 100; seed++) {
            struct rig rig;
            struct history history;
            uint64_t random = seed;
            test_at("shape %u, seed %u", (unsigned)i, (unsigned)seed);
            rig_open(&rig, &shapes[i]);
            history_open(&history, shapes[i].slot_count);
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            for (uint32_t turn = 0; turn < 4; turn++) {
                fp_emulated_cut_power(rig.emulated, 1 + random_below(&random, 60),
                                      random_cut(&random));
                work(&rig, &history, &random, 300);
                recover(&rig, &history, &random, true);
                for (uint32_t slot = 0; slot < shapes[i].slot_count; slot++)
                    EXPECT(!fp_swap_holds(&rig.store, slot));
                history_close(&history);
                history_open(&history, shapes[i].slot_count);
            }
            history_close(&history);
            rig_close(&rig);
        }
    }
}

static const struct test tests[] = {
    {"power_cut_everywhere", everywhere},
    {"power_cut_everywhere_large_pages", everywhere_large_pages},
    {"power_cut_everywhere_small_pages", everywhere_small_pages},
    {"power_cut_everywhere_failing_medium", everywhere_failing},
    {"power_cut_everywhere_corrected_reads", everywhere_corrected},
    {"power_cut_many_seeds", many_seeds},
    {"power_cut_format_over_a_store", format_over_a_store},
    {"power_mount_without_sync", mount_without_sync},
    {"power_mount_of_a_full_store", mount_of_a_full_store},
    {"power_fragments_are_volatile", fragments_are_volatile},
    {0},
};

TEST_LIST(tests)
