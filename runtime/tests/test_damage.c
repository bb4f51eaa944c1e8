/* Bits that flip on the medium: a read gives the right page or FP_SWAP_CORRUPT. */
#include "../swap/log/log_internal.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static const struct rig_shape shapes[] = {
    {.layout = RIG_LOG,
     .medium = {.program_bytes = 256, .block_bytes = 2048, .block_count = 16},
     .page_bytes = 128,
     .slot_count = 80},
    {.layout = RIG_LOG,
     .medium = {.program_bytes = 256, .block_bytes = 4096, .block_count = 14},
     .page_bytes = 512,
     .slot_count = 30},
    {.layout = RIG_FRAGMENTS,
     .medium = {.program_bytes = 1, .block_bytes = 4096, .block_count = 4},
     .page_bytes = 128,
     .slot_count = 80,
     .chunk_count = 160},
    {.layout = RIG_REWRITER,
     .medium = {.program_bytes = 256, .block_bytes = 2048, .block_count = 8},
     .page_bytes = 128,
     .slot_count = 80,
     .chunk_count = 160},
};

static uint32_t medium_bytes(const struct rig *rig)
{
    return rig->shape.medium.block_bytes * rig->shape.medium.block_count;
}

static void flip(struct rig *rig, uint32_t at, uint64_t *random)
{
    uint8_t *byte = fp_emulated_bytes(rig->emulated) + at;
    switch (random_below(random, 3)) {
    case 0:
        *byte ^= (uint8_t)(1u << random_below(random, 8));
        break;
    case 1:
        *byte ^= (uint8_t)(1 + random_below(random, 255));
        break;
    default: /* a codeword that could not be corrected */
        for (uint32_t i = 0; i < 16; i++)
            fp_emulated_bytes(rig->emulated)[(at & ~15u) + i] = (uint8_t)random_next(random);
    }
}

/* Checks that each read gives an allowed result. */
static uint32_t read_all(struct rig *rig, const uint32_t *map)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint32_t corrupt = 0;
    for (uint32_t slot = 0; slot < rig->shape.slot_count; slot++) {
        int error = fp_swap_read(&rig->store, slot, page);
        EXPECT_EQ(fp_swap_holds(&rig->store, slot), error != FP_SWAP_EMPTY);
        if (error == FP_SWAP_CORRUPT ||
            (error == FP_SWAP_IO && rig->unreadable_block != RIG_NONE))
            corrupt++;
        else if (!error && !(map[slot] &&
                             page_is(page, rig->shape.page_bytes, slot, map[slot])))
            FAIL("slot %u reads a wrong page", (unsigned)slot);
        else if (error && (error != FP_SWAP_EMPTY || map[slot]))
            FAIL("slot %u reads %d", (unsigned)slot, error);
    }
    return corrupt;
}

static void use(struct rig *rig, uint32_t *map, uint32_t *version, uint64_t *random,
                uint32_t calls)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    while (calls--) {
        uint32_t slot = random_below(random, rig->shape.slot_count);
        if (random_below(random, 4)) {
            page_fill(page, rig->shape.page_bytes, slot, ++*version);
            int error = fp_swap_write(&rig->store, slot, page);
            if (!error)
                map[slot] = *version;
            else
                EXPECT_EQ(error, FP_SWAP_FULL);
        } else {
            EXPECT_EQ(fp_swap_free(&rig->store, slot), FP_SWAP_OK);
            map[slot] = 0;
        }
    }
}

static void at_run_time(void)
{
    for (uint32_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        uint32_t corrupt = 0;
        uint32_t first = test_first(), rounds = test_rounds(12);
        for (uint32_t seed = first; seed < first + rounds; seed++) {
            struct rig rig;
            uint32_t map[80] = {0}, version = 0;
            uint64_t random = seed;
            rig_open(&rig, &shapes[i]);
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            use(&rig, map, &version, &random, 200);
            for (uint32_t turn = 0; turn < 100; turn++) {
                test_at("shape %u, seed %u, turn %u", (unsigned)i, (unsigned)seed,
                        (unsigned)turn);
                flip(&rig, random_below(&random, medium_bytes(&rig)), &random);
                corrupt += read_all(&rig, map);
                use(&rig, map, &version, &random, random_below(&random, 40));
                rig_check(&rig);
                corrupt += read_all(&rig, map);
            }
            rig_close(&rig);
        }
        EXPECT(corrupt > 10);
    }
}

/* A synced log, damaged anywhere and mounted. */
static void before_mount(void)
{
    uint32_t corrupt = 0, mounts = 0;
    uint32_t first = test_first(), rounds = test_rounds(400);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        struct rig rig;
        uint32_t version = 0;
        uint64_t random = seed;
        const struct rig_shape *shape = &shapes[seed % 2];
        uint32_t map[80] = {0};
        test_at("seed %u", (unsigned)seed);
        rig_open(&rig, shape);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        use(&rig, map, &version, &random, 100 + random_below(&random, 400));
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        for (uint32_t turn = 0; turn < 6; turn++) {
            test_at("seed %u, turn %u", (unsigned)seed, (unsigned)turn);
            flip(&rig, random_below(&random, medium_bytes(&rig)), &random);
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
            mounts++;
            rig_check(&rig);
            corrupt += read_all(&rig, map);
            use(&rig, map, &version, &random, random_below(&random, 100));
            rig_check(&rig);
            read_all(&rig, map);
            EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        }
        rig_close(&rig);
    }
    /* One flip costs no more than the records of a flash page. */
    test_at("%u pages in %u mounts", (unsigned)corrupt, (unsigned)mounts);
    EXPECT(corrupt > mounts / 10 && corrupt < mounts * 8);
}

/* Fills a store and syncs it. */
static void open_synced(struct rig *rig, const struct rig_shape *shape, uint32_t *map,
                        uint32_t *version, uint64_t *random, uint32_t calls)
{
    rig_open(rig, shape);
    EXPECT_EQ(rig_format(rig), FP_SWAP_OK);
    use(rig, map, version, random, calls);
    EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_OK);
}

/* Damage to one of the pages that a sync programs last: another page has the same contents. */
static void of_the_last_pages(void)
{
    uint32_t first = test_first(), rounds = test_rounds(500);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        struct rig rig;
        uint32_t map[80] = {0}, version = 0;
        uint64_t random = seed;
        const struct rig_shape *shape = &shapes[seed % 2];
        test_at("seed %u", (unsigned)seed);
        open_synced(&rig, shape, map, &version, &random, 100 + seed % 50);
        flip(&rig,
             rig.last_block * shape->medium.block_bytes + rig.last_offset -
                 seed / 2 % 2 * shape->medium.program_bytes +
                 random_below(&random, shape->medium.program_bytes),
             &random);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        rig_check(&rig);
        EXPECT_EQ(read_all(&rig, map), 0);
        rig_close(&rig);
    }
}

/* Returns the records that have bytes in a page. */
static uint32_t records_in(const struct rig *rig, uint32_t page)
{
    const struct rig_shape *shape = &rig->shape;
    uint32_t from = page * (shape->medium.program_bytes / 4);
    uint32_t words = shape->medium.block_bytes / 4, records = 0;
    for (uint32_t slot = 0; slot < shape->slot_count; slot++) {
        uint32_t size = rig->store.size[slot], at = rig->store.location[slot];
        if (size == 0 || size > shape->page_bytes)
            continue;
        for (uint32_t word = 0; word < 3 + (size + 3) / 4; word++, at++) {
            if (word > 0 && at % words == 0) /* after the preamble of the next block */
                at = rig->store.of.log.blocks[at / words - 1].next * words + 3;
            if (at - from < shape->medium.program_bytes / 4) {
                records++;
                break;
            }
        }
    }
    return records;
}

/* Each page of the medium in turn becomes unreadable: that costs the records in it, and no others.
 */
static void of_each_page(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct rig_shape *shape = &shapes[i];
        uint32_t pages = shape->medium.block_bytes / shape->medium.program_bytes;
        uint32_t lost = 0;
        for (uint32_t page = 0; page < pages * shape->medium.block_count; page++) {
            struct rig rig;
            uint32_t map[80] = {0}, version = 0;
            uint64_t random = i + page / 7;
            test_at("shape %u, page %u", (unsigned)i, (unsigned)page);
            open_synced(&rig, shape, map, &version, &random, 600);
            uint32_t expected = records_in(&rig, page);
            rig.unreadable_block = page / pages;
            rig.unreadable_offset = page % pages * shape->medium.program_bytes;
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
            rig_check(&rig);
            EXPECT_EQ(read_all(&rig, map), expected);
            use(&rig, map, &version, &random, 300);
            rig_check(&rig);
            read_all(&rig, map);
            lost += expected;
            rig_close(&rig);
        }
        test_at("shape %u: %u records lost", (unsigned)i, (unsigned)lost);
        EXPECT(lost > 10);
    }
}

/* The first pages of a block become unreadable. Data of its other pages is not replaced by older data.
 * One page of the newest block of the meta stream may be lost. */
static void of_first_pages(void)
{
    for (uint32_t block = 0; block < shapes[0].medium.block_count; block++) {
        for (uint32_t pages = 1; pages <= 7; pages++) {
            struct rig rig;
            uint32_t map[80] = {0}, version = 0;
            uint64_t random = pages;
            test_at("block %u, %u pages", (unsigned)block, (unsigned)pages);
            open_synced(&rig, &shapes[0], map, &version, &random, 900);
            if (block != rig.store.of.log.meta || pages == 1) {
                uint8_t *bytes = fp_emulated_bytes(rig.emulated);
                memset(bytes + (size_t)block * shapes[0].medium.block_bytes, 0,
                       pages * shapes[0].medium.program_bytes);
                EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
                rig_check(&rig);
                uint32_t lost = read_all(&rig, map);
                /* What is lost stays lost, whatever happens to the block. */
                for (uint32_t turn = 0; turn < 20; turn++) {
                    uint8_t page[RIG_PAGE_BYTES_MAX];
                    for (uint32_t call = 0; call < 10; call++) {
                        page_fill(page, shapes[0].page_bytes, 79, ++version);
                        EXPECT_EQ(fp_swap_write(&rig.store, 79, page), FP_SWAP_OK);
                        map[79] = version;
                    }
                    EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
                    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
                    EXPECT(read_all(&rig, map) + 1 >= lost);
                }
            }
            rig_close(&rig);
        }
    }
}

static const struct test tests[] = {
    {"damage_at_run_time", at_run_time},
    {"damage_before_mount", before_mount},
    {"damage_of_the_last_pages", of_the_last_pages},
    {"damage_of_each_page", of_each_page},
    {"damage_of_first_pages", of_first_pages},
    {0},
};

TEST_LIST(tests)
