/* Properties of all layouts: configs, memory, statistics, compressors. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static const struct rig_shape shapes[] = {
    {.layout = RIG_LOG,
     .medium = {.program_bytes = 256, .block_bytes = 4096, .block_count = 16},
     .page_bytes = 256,
     .slot_count = 61},
    {.layout = RIG_FRAGMENTS,
     .medium = {.program_bytes = 1, .block_bytes = 10000, .block_count = 3},
     .page_bytes = 256,
     .slot_count = 61,
     .chunk_count = 91},
    {.layout = RIG_REWRITER,
     .medium = {.program_bytes = 256, .block_bytes = 4096, .block_count = 8, .factory_bad = 1},
     .page_bytes = 256,
     .slot_count = 61,
     .chunk_count = 91},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static void crc_vectors(void)
{
    /* CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms. */
    EXPECT_EQ(fp_swap_crc32(0, "123456789", 9), 0xcbf43926u);
    EXPECT_EQ(fp_swap_crc32(fp_swap_crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
    EXPECT_EQ(fp_swap_crc32(0, "", 0), 0);
}

static void write_version(struct rig *rig, uint32_t slot, uint32_t version)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    page_fill(page, rig->shape.page_bytes, slot, version);
    EXPECT_EQ(fp_swap_write(&rig->store, slot, page), FP_SWAP_OK);
}

static void expect_version(struct rig *rig, uint32_t slot, uint32_t version)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    EXPECT_EQ(fp_swap_read(&rig->store, slot, page), version ? FP_SWAP_OK : FP_SWAP_EMPTY);
    if (version)
        EXPECT(page_is(page, rig->shape.page_bytes, slot, version));
}

static void keeps_pages(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        test_at("shape %u", (unsigned)i);
        rig_open(&rig, &shapes[i]);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        rig_check(&rig);
        for (uint32_t round = 0; round < 5; round++) {
            for (uint32_t slot = 0; slot < 60; slot++)
                write_version(&rig, slot, round * 100 + slot + 1);
            for (uint32_t slot = 0; slot < 60; slot++)
                expect_version(&rig, slot, round * 100 + slot + 1);
            expect_version(&rig, 60, 0);
            EXPECT_EQ(fp_swap_free(&rig.store, 60), FP_SWAP_OK);
            EXPECT_EQ(fp_swap_free(&rig.store, 7), FP_SWAP_OK);
            EXPECT(!fp_swap_holds(&rig.store, 7) && fp_swap_holds(&rig.store, 8));
            expect_version(&rig, 7, 0);
            rig_check(&rig);
        }
        rig_close(&rig);
    }
}

static void slots_that_are_none(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        uint8_t page[256] = {0};
        rig_open(&rig, &shapes[i]);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        EXPECT_EQ(fp_swap_write(&rig.store, 61, page), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_read(&rig.store, 61, page), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_free(&rig.store, UINT32_MAX), FP_SWAP_INVALID);
        EXPECT(!fp_swap_holds(&rig.store, 61));
        EXPECT_EQ(fp_swap_write(&rig.store, 0, NULL), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_erase_count(&rig.store, UINT32_MAX), 0);
        fp_swap_stat(&rig.store, NULL);
        struct fp_swap_stat stat;
        fp_swap_stat(NULL, &stat);
        EXPECT_EQ(stat.mem_limit, 0);
        rig_check(&rig);
        rig_close(&rig);
    }
}

static void no_store(void)
{
    struct rig rig;
    uint8_t page[256] = {0};
    rig_open(&rig, &shapes[0]);
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_NO_STORE);
    EXPECT_EQ(fp_swap_write(&rig.store, 0, page), FP_SWAP_INVALID);
    EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_INVALID);
    EXPECT(fp_swap_check(&rig.store) != NULL);

    rig_close(&rig);
}

/* Opens a store with a page in each slot but the last. */
static void open_filled(struct rig *rig)
{
    rig_open(rig, &shapes[0]);
    EXPECT_EQ(rig_format(rig), FP_SWAP_OK);
    for (uint32_t slot = 0; slot < 60; slot++)
        write_version(rig, slot, slot + 1);
    EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_OK);
    EXPECT_EQ(rig_mount(rig), FP_SWAP_OK);
    EXPECT(!fp_swap_other(&rig->store));
}

static uint32_t no_crc32(uint32_t crc, const void *data, size_t size)
{
    return ~fp_swap_crc32(crc, data, size);
}

/* The bytes of the rig's medium through a driver with another geometry. They end with blank ones. */
struct view {
    const uint8_t *bytes;
    size_t size;
    const struct fp_medium *medium;
};

static int view_read(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    const struct view *view = context;
    size_t at = (size_t)block * view->medium->block_bytes + offset;
    for (uint32_t i = 0; i < size; i++)
        ((uint8_t *)data)[i] = at + i < view->size ? view->bytes[at + i] : 0xff;
    return FP_MEDIUM_OK;
}

static int view_program(void *context, uint32_t block, uint32_t offset, const void *data,
                        uint32_t size)
{
    (void)context;
    (void)data;
    FAIL("program of block %u, offset %u, %u bytes", block, offset, size);
}

static int view_erase(void *context, uint32_t block)
{
    (void)context;
    FAIL("erase or mark of block %u", block);
}

static bool view_is_bad(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return false;
}

/* A config that differs in any parameter that a mount depends on is refused, with the shapes of
 * both, and leaves the store as it was. */
static void every_parameter(void)
{
    static const struct {
        uint32_t program_bytes, block_bytes, block_count, page_bytes, slot_count;
        const char *compressor; /* NULL for none */
    } others[] = {
        {512, 4096, 16, 256, 61, "rle"},  {260, 4160, 16, 256, 61, "rle"},
        {256, 2048, 32, 256, 61, "rle"},  {256, 2048, 16, 256, 61, "rle"},
        {256, 8192, 16, 256, 61, "rle"},  {512, 16384, 16, 256, 61, "rle"},
        {256, 4096, 17, 256, 61, "rle"},  {256, 4096, 15, 256, 61, "rle"},
        {256, 4096, 16, 252, 61, "rle"},  {256, 4096, 16, 512, 61, "rle"},
        {256, 4096, 16, 256, 60, "rle"},  {256, 4096, 16, 256, 62, "rle"},
        {256, 4096, 16, 256, 61, "rlf"},  {256, 4096, 16, 256, 61, "r"},
        {256, 4096, 16, 256, 61, "rle-long"}, {256, 4096, 16, 256, 61, NULL},
    };
    struct rig rig;
    open_filled(&rig);
    static uint32_t more[FP_SWAP_LOG_WORDS(64, 64, 1024, 1024)];
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct fp_swap_config config = rig.config;
        struct view view = {fp_emulated_bytes(rig.emulated), 16 * 4096, NULL};
        struct fp_medium medium = {.context = &view,
                                   .read = view_read,
                                   .program = view_program,
                                   .erase = view_erase,
                                   .is_bad = view_is_bad,
                                   .mark_bad = view_erase};
        struct fp_compressor compressor = rle;
        const struct fp_swap_shape *other;
        struct fp_swap_shape own;
        test_at("shape %u", (unsigned)i);
        medium.program_bytes = others[i].program_bytes;
        medium.block_bytes = others[i].block_bytes;
        medium.block_count = others[i].block_count;
        compressor.name = others[i].compressor;
        view.medium = config.medium = &medium;
        config.compressor = others[i].compressor ? &compressor : NULL;
        config.page_bytes = others[i].page_bytes;
        config.slot_count = others[i].slot_count;
        config.memory = more;
        config.memory_bytes = sizeof(more);
        EXPECT_EQ(fp_swap_mount(&rig.store, &config), FP_SWAP_OTHER);
        other = fp_swap_other(&rig.store);
        EXPECT(other != NULL);
        EXPECT(other->version == 4 && other->program_bytes == 256 && other->block_bytes == 4096 &&
               other->block_count == 16 && other->page_bytes == 256 && other->slot_count == 61 &&
               strcmp(other->compressor, "rle") == 0);
        fp_swap_shape(&config, &own);
        EXPECT(memcmp(&own, other, sizeof(own)) != 0);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        EXPECT(!fp_swap_other(&rig.store));
    }
    rig.config.crc = no_crc32;
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_INVALID);
    rig.config.crc = fp_swap_crc32;
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
    /* A store may be mounted with another number of reserved blocks. */
    rig.config.reserve_blocks = fp_swap_log_reserve(&rig.config) + 1;
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
    for (uint32_t slot = 0; slot < 60; slot++)
        expect_version(&rig, slot, slot + 1);
    rig_close(&rig);
}

/* A compressor whose name is missing or too long cannot be recorded. */
static void compressors_without_names(void)
{
    static const char *const names[] = {NULL, "", "nine-char"};
    for (size_t i = 0; i < 3; i++) {
        struct fp_compressor compressor = rle;
        struct rig rig;
        test_at("name %u", (unsigned)i);
        rig_open(&rig, &shapes[0]);
        compressor.name = names[i];
        rig.config.compressor = &compressor;
        EXPECT_EQ(rig_format(&rig), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_log_reserve(&rig.config), 0);
        rig_close(&rig);
    }
}

/* Stores of VERSION 1 to 3, and of a later one. */
static void other_versions(void)
{
    static const struct {
        uint32_t magic;
        uint32_t version;
    } old[] = {{0x57535046u, 2}, {0xf1a54b06u, 3}};
    struct rig rig;
    for (size_t i = 0; i < 2; i++) {
        rig_open(&rig, &shapes[0]);
        memcpy(fp_emulated_bytes(rig.emulated) + 4096 * (3 + 10 * i), &old[i].magic, 4);
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OTHER);
        EXPECT(fp_swap_other(&rig.store)->version == old[i].version);
        /* A program of that version would take what is left of its store for it. */
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        EXPECT(memcmp(fp_emulated_bytes(rig.emulated) + 4096 * (3 + 10 * i), &old[i].magic, 4));
        EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        rig_close(&rig);
    }
    open_filled(&rig);
    uint8_t *bytes = fp_emulated_bytes(rig.emulated);
    for (uint32_t block = 0; block < 16; block++) {
        for (uint32_t page = 0; page < 16; page++) {
            uint8_t *at = bytes + 4096 * block + 256 * page;
            uint32_t crc;
            if (at[0] != 0x07 || at[3] != 0xf1)
                continue;
            at[8] = 5;
            crc = fp_swap_crc32(0, at + 8, 24);
            memcpy(at + 4, &crc, 4);
        }
    }
    EXPECT_EQ(rig_mount(&rig), FP_SWAP_OTHER);
    EXPECT(fp_swap_other(&rig.store)->version == 5);
    EXPECT(fp_swap_other(&rig.store)->slot_count == 61);
    rig_close(&rig);
}

/* A format refuses a medium with too few good blocks and leaves it; with one more it stores a page. */
static void too_few_good_blocks(void)
{
    for (uint32_t good = 1; good < 40; good++) {
        struct rig_shape shape = shapes[0];
        struct rig rig;
        test_at("%u good blocks", (unsigned)good);
        shape.medium.block_count = 60;
        shape.medium.factory_bad = 60 - good;
        rig_open(&rig, &shape);
        uint32_t least = fp_swap_log_blocks(&rig.config);
        struct fp_emulated_counters before, after;
        fp_emulated_counters(rig.emulated, &before);
        int error = rig_format(&rig);
        fp_emulated_counters(rig.emulated, &after);
        EXPECT(least > 5 && least < 30);
        EXPECT_EQ(error, good < least ? FP_SWAP_SMALL : FP_SWAP_OK);
        if (error) {
            EXPECT_EQ(before.programs + before.erases, after.programs + after.erases);
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_NO_STORE);
        } else {
            write_version(&rig, 0, 1);
            EXPECT_EQ(rig_mount(&rig), FP_SWAP_OK);
        }
        rig_close(&rig);
    }
}

static uint32_t compressed_pages;

static uint32_t count_and_compress(void *context, const uint8_t *page, uint32_t page_bytes,
                                   uint8_t *out, uint32_t capacity)
{
    compressed_pages++;
    return rle.compress(context, page, page_bytes, out, capacity);
}

static int fail_to_mark(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return FP_MEDIUM_IO;
}

static int fail_to_program(void *context, uint32_t block, uint32_t offset, const void *data,
                           uint32_t size)
{
    (void)context;
    (void)block;
    (void)offset;
    (void)data;
    (void)size;
    return FP_MEDIUM_IO;
}

/* A medium that failed for good costs no compression of what it refuses. */
static void failed_for_good(void)
{
    struct fp_compressor compressor = rle;
    uint8_t page[256];
    struct rig rig;
    int error = FP_SWAP_OK;
    compressor.compress = count_and_compress;
    rig_open(&rig, &shapes[0]);
    rig.config.compressor = &compressor;
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    EXPECT(!fp_swap_has_failed(&rig.store));
    rig.medium.program = fail_to_program;
    rig.medium.erase = rig.medium.mark_bad = fail_to_mark;
    for (uint32_t slot = 0; slot < 60 && !error; slot++) {
        page_fill(page, 256, slot, slot + 1);
        error = fp_swap_write(&rig.store, slot, page);
    }
    for (uint32_t turn = 0; turn < 100 && !fp_swap_has_failed(&rig.store); turn++)
        (void)fp_swap_sync(&rig.store);
    EXPECT(fp_swap_has_failed(&rig.store));
    compressed_pages = 0;
    for (uint32_t slot = 0; slot < 60; slot++) {
        page_fill(page, 256, slot, slot + 2);
        EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_IO);
    }
    EXPECT_EQ(compressed_pages, 0);
    rig_close(&rig);
}

static void expect_invalid(struct rig *rig, const char *message)
{
    test_at("%s", message);
    EXPECT_EQ(fp_swap_format(&rig->store, &rig->config), FP_SWAP_INVALID);
    EXPECT_EQ(fp_swap_mount(&rig->store, &rig->config), FP_SWAP_INVALID);
    EXPECT_EQ(fp_swap_sync(&rig->store), FP_SWAP_INVALID);
}

/* Each change in turn makes a valid config invalid. */
#define INVALID(change)                                                                           \
    do {                                                                                         \
        struct fp_swap_config config = rig.config;                                               \
        struct fp_medium medium = rig.medium;                                               \
        change;                                                                                  \
        expect_invalid(&rig, #change);                                                           \
        rig.config = config;                                                                     \
        rig.medium = medium;                                                                     \
    } while (0)

static void invalid_configs(void)
{
    struct rig rig;
    rig_open(&rig, &shapes[0]);
    EXPECT_EQ(fp_swap_format(&rig.store, NULL), FP_SWAP_INVALID);
    EXPECT_EQ(fp_swap_format(NULL, &rig.config), FP_SWAP_INVALID);
    struct fp_compressor half = rle;
    half.decompress = NULL;
    INVALID(rig.config.medium = NULL);
    INVALID(rig.config.layout = NULL);
    INVALID(rig.config.compressor = &half);
    INVALID(rig.config.page_bytes = 0);
    INVALID(rig.config.page_bytes = 255);
    INVALID((rig.config.page_bytes = 32772, rig.config.memory_bytes = (size_t)1 << 30));
    INVALID(rig.config.slot_count = 0);
    INVALID(rig.config.slot_count = UINT32_MAX);
    INVALID(rig.config.memory = NULL);
    INVALID(rig.config.memory = (uint8_t *)(rig.memory + 1) + 2);
    INVALID(rig.config.memory_bytes -= 4);
    INVALID(rig.config.memory_bytes = 0);
    INVALID(rig.config.reserve_blocks = fp_swap_log_reserve(&rig.config) - 1);
    INVALID(rig.config.reserve_blocks = 16);
    INVALID(rig.config.reserve_blocks = UINT32_MAX);
    INVALID(rig.medium.read = NULL);
    INVALID(rig.medium.program = NULL);
    INVALID(rig.medium.erase = NULL);
    INVALID(rig.medium.is_bad = NULL);
    INVALID(rig.medium.mark_bad = NULL);
    INVALID(rig.medium.program_bytes = 0);
    INVALID(rig.medium.program_bytes = 1);
    INVALID(rig.medium.program_bytes = 128); /* too small */
    INVALID(rig.medium.program_bytes = 258); /* no multiple of 4 */
    INVALID(rig.medium.program_bytes = 272); /* does not divide the block */
    INVALID(rig.medium.program_bytes = 1024); /* 4 flash pages a block */
    INVALID(rig.medium.block_bytes = 0);
    INVALID(rig.medium.block_bytes = 256); /* a block that holds no page */
    INVALID(rig.medium.block_count = 0);
    INVALID(rig.medium.block_count = fp_swap_log_reserve(&rig.config));
    INVALID(rig.medium.block_count = UINT32_MAX);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    rig_close(&rig);

    rig_open(&rig, &shapes[1]);
    INVALID(rig.config.memory_bytes -= 4);
    INVALID(rig.config.chunk_count = 0);
    INVALID(rig.config.chunk_count = 61);
    INVALID(rig.config.chunk_count = UINT32_MAX);
    INVALID(rig.medium.program_bytes = 2);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    rig_close(&rig);
}

/* The memory that the macros compute is enough, one word less is refused, and nothing is written outside
 * of it. */
static void memory(void)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct rig rig;
        struct history history;
        uint64_t random = seed;
        struct rig_shape shape = shapes[seed % 2];
        shape.page_bytes = 4 + 4 * random_below(&random, 100);
        shape.slot_count = 1 + random_below(&random, 100);
        shape.chunk_count = shape.slot_count + 1 + random_below(&random, 100);
        shape.medium.block_count += random_below(&random, 8);
        test_at("seed %u", (unsigned)seed);
        rig_open(&rig, &shape);
        rig.config.memory_bytes -= 4;
        EXPECT_EQ(rig_format(&rig), FP_SWAP_INVALID);
        rig.config.memory_bytes += 4;
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        history_open(&history, shape.slot_count);
        work(&rig, &history, &random, 500);
        rig_check(&rig);
        history_close(&history);
        rig_close(&rig);
    }
}

static void statistics(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        struct fp_swap_stat empty, stat;
        uint8_t page[256];
        test_at("shape %u", (unsigned)i);
        rig_open(&rig, &shapes[i]);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        fp_swap_stat(&rig.store, &empty);
        EXPECT_EQ(empty.pages, 0);
        EXPECT_EQ(empty.orig_data_size, 0);
        EXPECT_EQ(empty.compr_data_size, 0);
        EXPECT_EQ(empty.mem_used_total, 0);
        EXPECT_EQ(empty.compr_permille, 0);
        EXPECT(empty.mem_limit > 0);
        EXPECT(empty.mem_limit <= (uint64_t)shapes[i].medium.block_bytes *
                                      shapes[i].medium.block_count);
        EXPECT_EQ(empty.bad_blocks, i == 2 ? 0 : shapes[i].medium.factory_bad);

        /* 20 same-filled, 10 incompressible, and 10 that shrink to 2 * 2 + 2. */
        uint64_t random = 1;
        for (uint32_t slot = 0; slot < 40; slot++) {
            for (uint32_t at = 0; at < sizeof(page); at += 4) {
                uint32_t word = slot * 0x01020304u;
                memcpy(page + at, &word, 4);
            }
            if (slot >= 20 && slot < 30)
                for (uint32_t at = 0; at < sizeof(page); at++)
                    page[at] = (uint8_t)random_next(&random);
            if (slot >= 30) {
                memset(page, (int)slot, 128);
                memset(page + 128, 0, 64);
                memset(page + 192, 1, 64);
            }
            EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
            EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
        }
        fp_swap_stat(&rig.store, &stat);
        EXPECT_EQ(stat.pages, 40);
        EXPECT_EQ(stat.same_pages, 20);
        EXPECT_EQ(stat.huge_pages, 10);
        EXPECT_EQ(stat.lost_pages, 0);
        EXPECT_EQ(stat.orig_data_size, 40 * 256);
        EXPECT_EQ(stat.compr_data_size, 10 * 256 + 10 * 6);
        EXPECT_EQ(stat.compr_permille, (2620 * 1000 + 5120) / 10240);
        EXPECT(stat.mem_used_total >= stat.compr_data_size);
        EXPECT(stat.mem_used_total <= stat.compr_data_size + 40 * 32);
        EXPECT_EQ(stat.used_permille, (stat.mem_used_total * 1000 + 5120) / 10240);
        EXPECT(stat.mem_used_max >= stat.mem_used_total);
        EXPECT_EQ(stat.mem_limit, empty.mem_limit);
        EXPECT(stat.written_size >= 2 * 2620);

        /* A same-filled page takes no data: less than a small one does. */
        uint64_t before = stat.mem_used_total;
        EXPECT_EQ(fp_swap_free(&rig.store, 0), FP_SWAP_OK);
        fp_swap_stat(&rig.store, &stat);
        EXPECT_EQ(stat.compr_data_size, 10 * 256 + 10 * 6);
        EXPECT(before - stat.mem_used_total <= 24);
        for (uint32_t slot = 1; slot < 40; slot++)
            EXPECT_EQ(fp_swap_free(&rig.store, slot), FP_SWAP_OK);
        fp_swap_stat(&rig.store, &stat);
        EXPECT_EQ(stat.pages, 0);
        EXPECT_EQ(stat.same_pages + stat.huge_pages, 0);
        EXPECT_EQ(stat.orig_data_size + stat.compr_data_size, 0);
        EXPECT_EQ(stat.mem_used_total, 0);
        rig_check(&rig);
        rig_close(&rig);
    }
}

/* The store's counts of erases and programmed bytes equal those of the emulated medium. */
static void statistics_of_the_medium(void)
{
    struct rig rig;
    struct history history;
    struct fp_swap_stat stat;
    struct fp_emulated_counters before, after;
    uint64_t random = 1;
    rig_open(&rig, &shapes[0]);
    history_open(&history, 61);
    fp_emulated_counters(rig.emulated, &before);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    work(&rig, &history, &random, 3000);
    fp_swap_stat(&rig.store, &stat);
    fp_emulated_counters(rig.emulated, &after);
    EXPECT_EQ(stat.erases, after.erases - before.erases);
    EXPECT_EQ(stat.programmed_size, after.program_bytes - before.program_bytes);
    EXPECT(stat.programmed_size >= stat.written_size + stat.moved_size);
    EXPECT(stat.erases > 50 && stat.moved_size > 0);
    history_close(&history);
    rig_close(&rig);
}

/* Ways in which a compressor can be wrong, other than writing outside of its memory. */
enum lie { TOO_LONG, FULL_LENGTH, GARBAGE, NO_DECOMPRESS, OTHER_PAGE, ZERO };

static uint32_t liar_compress(void *context, const uint8_t *page, uint32_t page_bytes,
                              uint8_t *out, uint32_t capacity)
{
    enum lie lie = *(enum lie *)context;
    if (lie == NO_DECOMPRESS || lie == OTHER_PAGE)
        return rle.compress(NULL, page, page_bytes, out, capacity);
    memset(out, 0x55, capacity);
    return lie == TOO_LONG      ? UINT32_MAX
           : lie == FULL_LENGTH ? page_bytes
           : lie == GARBAGE     ? 1 + page[0] % capacity
                                : 0;
}

static int liar_decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                           uint32_t page_bytes)
{
    if (*(enum lie *)context == NO_DECOMPRESS)
        return -1;
    int error = rle.decompress(NULL, data, size, page, page_bytes);
    if (*(enum lie *)context == OTHER_PAGE)
        page[size % page_bytes] ^= 1u;
    return error;
}

static void compressors_that_lie(void)
{
    for (enum lie lie = TOO_LONG; lie <= ZERO; lie++) {
        for (size_t i = 0; i < SHAPES; i++) {
            const struct fp_compressor liar = {
                .context = &lie, .compress = liar_compress, .decompress = liar_decompress,
                .name = "liar"};
            struct rig rig;
            uint8_t page[256];
            test_at("lie %d, shape %u", (int)lie, (unsigned)i);
            rig_open(&rig, &shapes[i]);
            rig.config.compressor = &liar;
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            uint32_t read = 0;
            for (uint32_t slot = 0; slot < 60; slot++)
                write_version(&rig, slot, slot + 1);
            for (uint32_t slot = 0; slot < 60; slot++) {
                int error = fp_swap_read(&rig.store, slot, page);
                EXPECT(error == FP_SWAP_OK || error == FP_SWAP_CORRUPT);
                if (!error)
                    EXPECT(page_is(page, 256, slot, slot + 1));
                read += !error;
            }
            if (lie != GARBAGE && lie != NO_DECOMPRESS && lie != OTHER_PAGE)
                EXPECT_EQ(read, 60);
            rig_check(&rig);
            rig_close(&rig);
        }
    }
}

/* If the store verifies pages, it stores those that the compressor gets wrong uncompressed. */
static void compressors_that_lie_are_found(void)
{
    for (enum lie lie = TOO_LONG; lie <= ZERO; lie++) {
        for (size_t i = 0; i < SHAPES; i++) {
            const struct fp_compressor liar = {
                .context = &lie, .compress = liar_compress, .decompress = liar_decompress,
                .name = "liar"};
            struct rig rig;
            struct fp_swap_stat stat;
            uint8_t verify[256 + 1];
            verify[256] = 0x77;
            test_at("lie %d, shape %u", (int)lie, (unsigned)i);
            rig_open(&rig, &shapes[i]);
            rig.config.compressor = &liar;
            rig.config.verify = verify;
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            for (uint32_t slot = 0; slot < 60; slot++)
                write_version(&rig, slot, slot + 1);
            for (uint32_t slot = 0; slot < 60; slot++)
                expect_version(&rig, slot, slot + 1);
            fp_swap_stat(&rig.store, &stat);
            EXPECT_EQ(stat.huge_pages + stat.same_pages, 60);
            EXPECT_EQ(verify[256], 0x77);
            rig_check(&rig);
            rig_close(&rig);
        }
    }
}

/* A store that verifies pages stores correctly compressed pages compressed. */
static void verified_pages_are_compressed(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        struct fp_swap_stat unchecked, stat;
        uint8_t verify[256];
        for (uint32_t round = 0; round < 2; round++) {
            rig_open(&rig, &shapes[i]);
            rig.config.verify = round ? verify : NULL;
            EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
            for (uint32_t slot = 0; slot < 60; slot++)
                write_version(&rig, slot, slot + 1);
            for (uint32_t slot = 0; slot < 60; slot++)
                expect_version(&rig, slot, slot + 1);
            fp_swap_stat(&rig.store, round ? &stat : &unchecked);
            rig_close(&rig);
        }
        EXPECT(stat.huge_pages + stat.same_pages < 60);
        EXPECT_EQ(stat.compr_data_size, unchecked.compr_data_size);
        EXPECT_EQ(stat.huge_pages, unchecked.huge_pages);
    }
}

/* Writing and reading in two steps, with the callers' codecs, give the same results as in one step. */
static void packs_and_puts(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        uint8_t pages[2][256], stages[2][256], verify[256], back[256];
        struct fp_swap_packed packed[2];
        const struct fp_swap_codec codecs[2] = {{&rle, stages[0], NULL}, {&rle, stages[1], verify}};
        rig_open(&rig, &shapes[i]);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        for (uint32_t slot = 0; slot < 60; slot += 2) {
            test_at("shape %u, slot %u", (unsigned)i, slot);
            /* Both are packed before either is put. */
            for (uint32_t j = 0; j < 2; j++) {
                page_fill(pages[j], 256, slot + j, slot + j + 1);
                EXPECT_EQ(fp_swap_pack(&rig.store, &codecs[j], slot + j, pages[j], &packed[j]), 0);
            }
            for (uint32_t j = 0; j < 2; j++)
                EXPECT_EQ(fp_swap_put(&rig.store, slot + j, &packed[j]), FP_SWAP_OK);
            for (uint32_t j = 0; j < 2; j++)
                expect_version(&rig, slot + j, slot + j + 1);
            for (uint32_t j = 0; j < 2; j++)
                EXPECT_EQ(fp_swap_fetch(&rig.store, slot + j, stages[j], &packed[j]), FP_SWAP_OK);
            for (uint32_t j = 0; j < 2; j++) {
                EXPECT_EQ(fp_swap_unpack(&rig.store, &codecs[j], slot + j, &packed[j], back), 0);
                EXPECT(page_is(back, 256, slot + j, slot + j + 1));
                /* It is refused for another slot, and with any bit of its checksum changed. */
                EXPECT_EQ(fp_swap_unpack(&rig.store, &codecs[j], slot + j + 1, &packed[j], back),
                          packed[j].size == 0xffff ? FP_SWAP_OK : FP_SWAP_CORRUPT);
                packed[j].crc ^= 1u << slot % 32u;
                EXPECT_EQ(fp_swap_unpack(&rig.store, &codecs[j], slot + j, &packed[j], back),
                          packed[j].size == 0xffff ? FP_SWAP_OK : FP_SWAP_CORRUPT);
            }
        }
        EXPECT_EQ(fp_swap_fetch(&rig.store, 60, back, packed), FP_SWAP_EMPTY);
        EXPECT_EQ(fp_swap_fetch(&rig.store, 61, back, packed), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_pack(&rig.store, codecs, 61, pages[0], packed), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_pack(&rig.store, NULL, 0, pages[0], packed), FP_SWAP_INVALID);
        EXPECT_EQ(fp_swap_put(&rig.store, 0, NULL), FP_SWAP_INVALID);
        packed[0].data = pages[0];
        for (uint32_t size = 0; size <= 0xfffe; size = size ? size + 1 : 257) {
            packed[0].size = (uint16_t)size;
            EXPECT_EQ(fp_swap_put(&rig.store, 0, &packed[0]), FP_SWAP_INVALID);
        }
        expect_version(&rig, 0, 1);
        /* If a page cannot be read, the output stays unchanged. */
        EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
        memset(packed, 0x5a, sizeof(packed));
        rig.blind = true;
        for (uint32_t slot = 0; slot < 60; slot++) {
            int error = fp_swap_fetch(&rig.store, slot, back, &packed[0]);
            EXPECT(error == FP_SWAP_OK || error == FP_SWAP_IO);
            if (error)
                EXPECT(memcmp(&packed[0], &packed[1], sizeof(packed[0])) == 0);
            memset(&packed[0], 0x5a, sizeof(packed[0]));
        }
        rig.blind = false;
        rig_check(&rig);
        rig_close(&rig);
    }
}

/* fp_swap_is_full() is true from the first refused page to the next freed one. */
static void tells_that_it_is_full(void)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct rig rig;
        struct rig_shape shape = shapes[i];
        uint8_t page[256];
        uint32_t slot, free_slots[2];
        int error;
        test_at("shape %u", (unsigned)i);
        shape.slot_count = 400;
        shape.chunk_count = shape.chunk_count ? 600 : 0;
        shape.raw = true;
        rig_open(&rig, &shape);
        EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
        EXPECT(!fp_swap_is_full(NULL, 0));
        for (slot = 0, error = 0; !error; slot++) {
            EXPECT(!fp_swap_is_full(&rig.store, slot));
            memset(page, (int)slot, sizeof(page));
            page[0]++;
            error = fp_swap_write(&rig.store, slot, page);
        }
        EXPECT_EQ(error, FP_SWAP_FULL);
        EXPECT(slot > 10 && slot < 390);
        free_slots[0] = slot - 1;
        free_slots[1] = slot;
        for (uint32_t j = 0; j < 2; j++)
            EXPECT(fp_swap_is_full(&rig.store, free_slots[j]));
        EXPECT(!fp_swap_is_full(&rig.store, 400));
        /* A slot that holds a page is written in its place. */
        EXPECT(!fp_swap_is_full(&rig.store, 3));
        EXPECT_EQ(fp_swap_write(&rig.store, free_slots[0], page), FP_SWAP_FULL);
        EXPECT(fp_swap_is_full(&rig.store, free_slots[0]));
        EXPECT_EQ(fp_swap_free(&rig.store, free_slots[0]), FP_SWAP_OK);
        EXPECT(fp_swap_is_full(&rig.store, free_slots[0]));
        EXPECT_EQ(fp_swap_free(&rig.store, 3), FP_SWAP_OK);
        EXPECT(!fp_swap_is_full(&rig.store, free_slots[0]));
        EXPECT_EQ(fp_swap_write(&rig.store, free_slots[0], page), FP_SWAP_OK);
        rig_check(&rig);
        rig_close(&rig);
    }
}

/* A store releases each block that is empty, at first and after its pages were freed, and no block that
 * holds data. */
static void releases_blocks(void)
{
    struct rig rig;
    struct rig_shape shape = shapes[1];
    uint64_t random = 1;
    uint32_t versions[60] = {0};
    shape.releasing = true;
    shape.medium.block_bytes = 512;
    shape.medium.block_count = 24;
    rig_open(&rig, &shape);
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    EXPECT_EQ(rig.releases, 24);
    for (uint32_t call = 1; call < 20000; call++) {
        uint32_t slot = random_below(&random, 60);
        uint8_t page[256];
        int error;
        test_at("call %u", call);
        page_fill(page, 256, slot, call);
        error = fp_swap_write(&rig.store, slot, page);
        EXPECT(error == FP_SWAP_OK || error == FP_SWAP_FULL);
        if (!error)
            versions[slot] = call;
        slot = random_below(&random, 60);
        if (random_below(&random, 3) == 0) {
            EXPECT_EQ(fp_swap_free(&rig.store, slot), FP_SWAP_OK);
            versions[slot] = 0;
        }
        slot = random_below(&random, 60);
        expect_version(&rig, slot, versions[slot]);
        if (call % 1000 == 0)
            rig_check(&rig);
    }
    EXPECT(rig.releases > 1000);
    for (uint32_t slot = 0; slot < 60; slot++)
        EXPECT_EQ(fp_swap_free(&rig.store, slot), FP_SWAP_OK);
    /* One page in the whole medium takes a block or two, and releases them. */
    for (uint32_t slot = 0; slot < 60; slot++) {
        uint32_t before = rig.releases;
        uint8_t page[256];
        for (uint32_t at = 0; at < 256; at++)
            page[at] = (uint8_t)(at * 37);
        EXPECT_EQ(fp_swap_write(&rig.store, slot, page), FP_SWAP_OK);
        EXPECT_EQ(rig.releases, before);
        EXPECT_EQ(fp_swap_free(&rig.store, slot), FP_SWAP_OK);
        EXPECT(rig.releases - before >= 1 && rig.releases - before <= 2);
    }
    rig_check(&rig);
    rig_close(&rig);
}

static const struct test tests[] = {
    {"store_crc_vectors", crc_vectors},
    {"store_keeps_pages", keeps_pages},
    {"store_slots_that_are_none", slots_that_are_none},
    {"store_no_store", no_store},
    {"store_refuses_every_other_parameter", every_parameter},
    {"store_compressors_without_names", compressors_without_names},
    {"store_other_versions", other_versions},
    {"store_too_few_good_blocks", too_few_good_blocks},
    {"store_failed_for_good", failed_for_good},
    {"store_invalid_configs", invalid_configs},
    {"store_memory", memory},
    {"store_statistics", statistics},
    {"store_statistics_of_the_medium", statistics_of_the_medium},
    {"store_compressors_that_lie", compressors_that_lie},
    {"store_compressors_that_lie_are_found", compressors_that_lie_are_found},
    {"store_verified_pages_are_compressed", verified_pages_are_compressed},
    {"store_packs_and_puts", packs_and_puts},
    {"store_tells_that_it_is_full", tells_that_it_is_full},
    {"store_releases_blocks", releases_blocks},
    {0},
};

TEST_LIST(tests)
