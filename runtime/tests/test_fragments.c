/* Tests of the fragments layout whose results are known by construction. */
#include "../swap/swap_internal.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define NO_PIECE FP_SWAP_NOWHERE
#define FIRST 12u /* bytes of the first piece's header */
#define NEXT 8u   /* bytes of the others' headers */
#define SLOTS_MAX 4096u
#define PAGE_MAX 4096u

/* A store on a medium in memory whose calls can be made to fail. */
static struct {
    uint8_t *bytes;
    uint64_t *written; /* bytes written to each 64 bytes */
    uint32_t size;
    uint32_t fail_read;    /* n if the n-th read from now fails; 0 if none fails */
    uint32_t fail_program; /* the same for programming */
    struct fp_medium medium;
    struct fp_swap_config config;
    struct fp_swap store;
} fixture;

static bool fails(uint32_t *countdown)
{
    return *countdown && !--*countdown;
}

static int array_read(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    (void)context;
    EXPECT(size > 0 && offset + size <= fixture.medium.block_bytes &&
           block < fixture.medium.block_count);
    if (fails(&fixture.fail_read))
        return FP_MEDIUM_IO;
    memcpy(data, fixture.bytes + (size_t)block * fixture.medium.block_bytes + offset, size);
    return FP_MEDIUM_CORRECTED; /* fragments treat it as success */
}

static int array_program(void *context, uint32_t block, uint32_t offset, const void *data,
                         uint32_t size)
{
    (void)context;
    EXPECT(size > 0 && offset + size <= fixture.medium.block_bytes &&
           block < fixture.medium.block_count);
    size_t at = (size_t)block * fixture.medium.block_bytes + offset;
    bool failing = fails(&fixture.fail_program);
    /* A failing call writes the first half. */
    memcpy(fixture.bytes + at, data, failing ? size / 2 : size);
    for (size_t end = at + size; at < end; at = at / 64 * 64 + 64)
        fixture.written[at / 64] += (end < at / 64 * 64 + 64 ? end : at / 64 * 64 + 64) - at;
    return failing ? FP_MEDIUM_IO : 0;
}

/* Makes a page that begins with its compressed size and the seed of its other bytes. */
static void page_make(uint8_t *page, uint32_t page_bytes, uint32_t size, uint64_t seed)
{
    uint64_t random = seed;
    fp_swap_put16(page, (uint16_t)size);
    fp_swap_put32(page + 2, (uint32_t)seed);
    for (uint32_t i = 6; i < page_bytes; i++)
        page[i] = (uint8_t)random_next(&random);
}

static uint32_t sized_compress(void *context, const uint8_t *page, uint32_t page_bytes,
                               uint8_t *out, uint32_t capacity)
{
    (void)context, (void)page_bytes;
    uint32_t size = fp_swap_get16(page);
    if (size > capacity)
        return 0;
    memcpy(out, page, size);
    return size;
}

static int sized_decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                            uint32_t page_bytes)
{
    (void)context;
    page_make(page, page_bytes, size, fp_swap_get32(data + 2));
    return memcmp(page, data, size) ? -1 : 0;
}

static const struct fp_compressor sized = {.compress = sized_compress, .decompress = sized_decompress};

static void open_store(uint32_t block_bytes, uint32_t block_count, uint32_t page_bytes,
                       uint32_t slots, uint32_t chunks)
{
    EXPECT(slots <= SLOTS_MAX && page_bytes <= PAGE_MAX);
    memset(&fixture, 0, sizeof(fixture));
    fixture.size = block_bytes * block_count;
    fixture.bytes = malloc(fixture.size);
    fixture.written = calloc(fixture.size / 64 + 1, sizeof(*fixture.written));
    size_t words = FP_SWAP_FRAGMENT_WORDS(slots, chunks, page_bytes);
    void *memory = malloc(words * 4);
    EXPECT(fixture.bytes && fixture.written && memory);
    memset(fixture.bytes, 0xff, fixture.size);
    fixture.medium = (struct fp_medium){.read = array_read,
                                        .program = array_program,
                                        .program_bytes = 1,
                                        .block_bytes = block_bytes,
                                        .block_count = block_count};
    fixture.config = (struct fp_swap_config){.medium = &fixture.medium,
                                             .layout = &fp_swap_fragments,
                                             .compressor = &sized,
                                             .page_bytes = page_bytes,
                                             .slot_count = slots,
                                             .chunk_count = chunks,
                                             .memory = memory,
                                             .memory_bytes = words * 4};
    EXPECT_EQ(fp_swap_format(&fixture.store, &fixture.config), FP_SWAP_OK);
}

static void close_store(void)
{
    free(fixture.bytes);
    free(fixture.written);
    free(fixture.config.memory);
}

static int put(uint32_t slot, uint32_t size, uint64_t seed)
{
    uint8_t page[PAGE_MAX];
    page_make(page, fixture.config.page_bytes, size, seed);
    return fp_swap_write(&fixture.store, slot, page);
}

/* Returns FP_SWAP_OK if the slot holds that page, 1 for another page, or the read's error. */
static int holds(uint32_t slot, uint32_t size, uint64_t seed)
{
    uint8_t page[PAGE_MAX], wanted[PAGE_MAX];
    int error = fp_swap_read(&fixture.store, slot, page);
    if (error)
        return error;
    page_make(wanted, fixture.config.page_bytes, size, seed);
    return memcmp(page, wanted, fixture.config.page_bytes) ? 1 : FP_SWAP_OK;
}

static void check(void)
{
    const char *wrong = fp_swap_check(&fixture.store);
    if (wrong)
        FAIL("%s", wrong);
}

static uint32_t used_bytes(void)
{
    struct fp_swap_stat stat;
    fp_swap_stat(&fixture.store, &stat);
    return (uint32_t)stat.mem_used_total;
}

#define PIECES (fixture.store.of.fragments.used)

static void records_as_documented(void)
{
    open_store(256, 16, 4096, 4, 5);
    EXPECT_EQ(put(2, 1000, 7), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[2], 0);
    EXPECT_EQ(fp_swap_get32(fixture.bytes), NO_PIECE);
    EXPECT_EQ(fp_swap_get16(fixture.bytes + 4), FIRST + 1000);
    uint8_t page[4096];
    page_make(page, 4096, 1000, 7);
    EXPECT_EQ(fp_swap_get32(fixture.bytes + 8), fp_swap_record_crc(&fixture.store, 2, 1000, page));
    EXPECT(!memcmp(fixture.bytes + FIRST, page, 1000));
    EXPECT_EQ(used_bytes(), FIRST + 1000);
    EXPECT_EQ(holds(2, 1000, 7), FP_SWAP_OK);

    /* A same-filled page takes nothing, and frees the old bytes. */
    memset(page, 0x5a, sizeof(page));
    EXPECT_EQ(fp_swap_write(&fixture.store, 2, page), FP_SWAP_OK);
    EXPECT_EQ(used_bytes(), 0);
    uint8_t back[4096];
    EXPECT_EQ(fp_swap_read(&fixture.store, 2, back), FP_SWAP_OK);
    EXPECT(!memcmp(page, back, sizeof(page)));
    EXPECT_EQ(fp_swap_mount(&fixture.store, &fixture.config), FP_SWAP_OK);
    EXPECT(!fp_swap_holds(&fixture.store, 2));
    close_store();
}

static void splits(void)
{
    open_store(512, 8, 4096, 5, 8);
    for (uint32_t slot = 0; slot < 3; slot++)
        EXPECT_EQ(put(slot, 1000, slot), FP_SWAP_OK); /* at 0, 1012, 2024 */
    EXPECT_EQ(fp_swap_free(&fixture.store, 1), FP_SWAP_OK);
    /* 1060 bytes are free at 3036, and 1012 at 1012. */
    EXPECT_EQ(put(4, 1500, 4), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[4], 3036);
    EXPECT_EQ(fp_swap_get32(fixture.bytes + 3036), 1012);
    EXPECT_EQ(fp_swap_get16(fixture.bytes + 3036 + 4), 1060);
    EXPECT_EQ(fp_swap_get32(fixture.bytes + 1012), NO_PIECE);
    EXPECT_EQ(fp_swap_get16(fixture.bytes + 1012 + 4), NEXT + 1500 - (1060 - FIRST));
    EXPECT_EQ(PIECES, 4);
    EXPECT_EQ(used_bytes(), 3500 + 3 * FIRST + NEXT);
    EXPECT_EQ(holds(4, 1500, 4), FP_SWAP_OK);
    check();
    EXPECT_EQ(holds(4, 1500, 4), FP_SWAP_OK);
    close_store();
}

static void merges(void)
{
    /* In whatever order six neighbours are freed, one free chunk is left: check() finds no two
     * chunks that touch. */
    for (uint32_t order = 0; order < 720; order++) {
        uint32_t left[6] = {0, 1, 2, 3, 4, 5};
        test_at("order %u", order);
        open_store(4096, 1, 1024, 6, 7);
        for (uint32_t slot = 0; slot < 6; slot++)
            EXPECT_EQ(put(slot, 100 + 50 * slot, slot), FP_SWAP_OK);
        for (uint32_t count = 6, code = order; count > 0; count--) {
            uint32_t i = code % count;
            code /= count;
            EXPECT_EQ(fp_swap_free(&fixture.store, left[i]), FP_SWAP_OK);
            left[i] = left[count - 1];
            check();
        }
        EXPECT_EQ(PIECES, 0);
        EXPECT_EQ(used_bytes(), 0);
        EXPECT_EQ(put(0, 1024, 1), FP_SWAP_OK);
        EXPECT_EQ(PIECES, 1);
        close_store();
    }
}

static void largest_first(void)
{
    /* 30 records of 200 bytes fill 6000 bytes. */
    open_store(6000, 1, 256, 31, 40);
    for (uint32_t slot = 0; slot < 30; slot++)
        EXPECT_EQ(put(slot, 200 - FIRST, slot), FP_SWAP_OK);
    EXPECT_EQ(used_bytes(), 6000);
    /* Holes of 600, 800, 600 and 800 bytes. */
    static const uint32_t holes[] = {2, 3, 4, 8, 9, 10, 11, 15, 16, 17, 20, 21, 22, 23};
    for (uint32_t i = 0; i < sizeof(holes) / sizeof(*holes); i++)
        EXPECT_EQ(fp_swap_free(&fixture.store, holes[i]), FP_SWAP_OK);
    /* Chunks of equal size are used in turn, first the next one after the last write. */
    fixture.store.of.fragments.next = 2000;
    fixture.store.of.fragments.from_end = false;
    EXPECT_EQ(put(30, 250 - FIRST, 30), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[30], 4000);
    EXPECT_EQ(put(2, 250 - FIRST, 2), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[2], 1600);
    EXPECT_EQ(put(3, 250 - FIRST, 3), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[3], 3000);
    EXPECT_EQ(put(4, 250 - FIRST, 4), FP_SWAP_OK);
    EXPECT_EQ(fixture.store.location[4], 400);
    check();
    close_store();
}

static void full_keeps_the_slot(void)
{
    open_store(4096, 1, 4096, 4, 8);
    EXPECT_EQ(put(0, 1500, 0), FP_SWAP_OK);
    EXPECT_EQ(put(1, 1500, 1), FP_SWAP_OK);
    uint32_t used = used_bytes();
    /* 1072 bytes are free; without slot 1's page it would be 1512 more. */
    EXPECT_EQ(put(2, 1061, 2), FP_SWAP_FULL);
    EXPECT_EQ(put(1, 2573, 2), FP_SWAP_FULL);
    EXPECT_EQ(used_bytes(), used);
    EXPECT_EQ(holds(1, 1500, 1), FP_SWAP_OK);
    check();
    EXPECT_EQ(holds(1, 1500, 1), FP_SWAP_OK);
    EXPECT_EQ(put(1, 2572, 3), FP_SWAP_OK);
    EXPECT_EQ(used_bytes(), 4096);
    EXPECT_EQ(holds(0, 1500, 0), FP_SWAP_OK);
    EXPECT_EQ(holds(1, 2572, 3), FP_SWAP_OK);
    check();

    /* Enough bytes are free, but in too many pieces, which only an attempt shows. */
    close_store();
    open_store(4200, 1, 4096, 20, 21);
    for (uint32_t slot = 0; slot < 20; slot++)
        EXPECT_EQ(put(slot, 198, slot), FP_SWAP_OK); /* all 4200 */
    for (uint32_t slot = 0; slot < 12; slot += 2)
        EXPECT_EQ(fp_swap_free(&fixture.store, slot), FP_SWAP_OK);
    /* 14 pieces, six holes of 210; slot 13's makes seven. At most 20 pieces. */
    EXPECT_EQ(put(13, 198 + 6 * 202 + 1, 99), FP_SWAP_FULL);
    EXPECT_EQ(holds(13, 198, 13), FP_SWAP_OK);
    check();
    EXPECT_EQ(put(0, 198 + 5 * 202, 99), FP_SWAP_OK);
    EXPECT_EQ(PIECES, 20);
    EXPECT_EQ(put(2, 1, 99), FP_SWAP_FULL);
    EXPECT_EQ(holds(0, 198 + 5 * 202, 99), FP_SWAP_OK);
    check();
    close_store();
}

static void pieces_have_a_bound(void)
{
    open_store(4200, 1, 4096, 20, 21);
    for (uint32_t slot = 0; slot < 20; slot++)
        EXPECT_EQ(put(slot, 198, slot), FP_SWAP_OK);
    for (uint32_t slot = 0; slot < 12; slot += 2)
        EXPECT_EQ(fp_swap_free(&fixture.store, slot), FP_SWAP_OK);
    /* 14 pieces and six holes of 210 bytes; five of these are left as 100. */
    for (uint32_t slot = 0; slot < 10; slot += 2)
        EXPECT_EQ(put(slot, 110 - FIRST, slot), FP_SWAP_OK);
    EXPECT_EQ(PIECES, 19);
    EXPECT_EQ(used_bytes(), 4200 - 5 * 100 - 210);
    EXPECT_EQ(put(10, 199, 97), FP_SWAP_FULL); /* two pieces make 21 */
    EXPECT_EQ(put(10, 198, 97), FP_SWAP_OK);
    EXPECT_EQ(PIECES, 20);
    EXPECT_EQ(put(12, 199, 97), FP_SWAP_FULL);
    EXPECT_EQ(holds(12, 198, 12), FP_SWAP_OK);
    check();
    close_store();
}

/* Opens the store of splits(), whose slot 4 is in two pieces. */
static void open_split(void)
{
    open_store(512, 8, 4096, 5, 8);
    for (uint32_t slot = 0; slot < 3; slot++)
        EXPECT_EQ(put(slot, 1000, slot), FP_SWAP_OK);
    EXPECT_EQ(fp_swap_free(&fixture.store, 1), FP_SWAP_OK);
    EXPECT_EQ(put(4, 1500, 4), FP_SWAP_OK);
}

static void flipped_headers(void)
{
    enum { READ, FREE, OVERWRITE, ONE_WORD, WAYS };
    for (uint32_t bit = 0; bit < 8 * (FIRST + NEXT); bit++) {
        for (uint32_t way = 0; way < WAYS; way++) {
            test_at("bit %u, way %u", bit, way);
            open_split();
            uint8_t *header = fixture.bytes + (bit < 8 * FIRST ? 3036 : 1012 - FIRST);
            header[bit / 8] ^= (uint8_t)(1u << bit % 8);
            bool is_crc = bit / 8 >= NEXT && bit / 8 < FIRST;
            uint8_t word[4096];
            memset(word, 0x11, sizeof(word));
            if (way == READ) {
                EXPECT_EQ(holds(4, 1500, 4), FP_SWAP_CORRUPT);
                EXPECT_EQ(fixture.store.size[4], is_crc ? 1500 : FP_SWAP_SIZE_LOST);
                EXPECT_EQ(holds(4, 1500, 4), FP_SWAP_CORRUPT);
            } else if (way == FREE) {
                EXPECT_EQ(fp_swap_free(&fixture.store, 4), FP_SWAP_OK);
                EXPECT_EQ(holds(4, 1500, 4), FP_SWAP_EMPTY);
            } else if (way == OVERWRITE) {
                EXPECT_EQ(put(4, 1700, 5), FP_SWAP_OK);
                EXPECT_EQ(holds(4, 1700, 5), FP_SWAP_OK);
            } else {
                EXPECT_EQ(fp_swap_write(&fixture.store, 4, word), FP_SWAP_OK);
            }
            check();
            EXPECT_EQ(holds(0, 1000, 0), FP_SWAP_OK);
            EXPECT_EQ(holds(2, 1000, 2), FP_SWAP_OK);
            EXPECT_EQ(fp_swap_free(&fixture.store, 4), FP_SWAP_OK);
            EXPECT_EQ(used_bytes(), 2 * (FIRST + 1000));
            EXPECT_EQ(PIECES, 2);
            check();
            close_store();
        }
    }
}

static void failing_calls(void)
{
    /* The new page of slot 2 fits beside the old one; that of slot 4 needs the old page's room. */
    for (uint32_t slot = 2; slot <= 4; slot += 2) {
        uint32_t size = slot == 2 ? 300 : 1700;
        for (int reads = 0; reads < 2; reads++) {
            bool failed = true;
            for (uint32_t n = 1; failed; n++) {
                test_at("slot %u, %s %u", slot, reads ? "read" : "program", n);
                EXPECT(n < 30);
                open_split();
                uint32_t *countdown = reads ? &fixture.fail_read : &fixture.fail_program;
                *countdown = n;
                int error = put(slot, size, 9);
                failed = *countdown == 0;
                *countdown = 0;
                int was = slot == 2 ? holds(2, 1000, 2) : holds(4, 1500, 4);
                int is = holds(slot, size, 9);
                if (error == FP_SWAP_OK) {
                    EXPECT_EQ(is, FP_SWAP_OK);
                } else {
                    EXPECT_EQ(error, FP_SWAP_IO);
                    EXPECT(was == FP_SWAP_OK || was == FP_SWAP_CORRUPT);
                    EXPECT(slot == 4 || was == FP_SWAP_OK);
                }
                check();
                EXPECT_EQ(holds(0, 1000, 0), FP_SWAP_OK);
                EXPECT_EQ(fp_swap_free(&fixture.store, slot), FP_SWAP_OK);
                EXPECT_EQ(fp_swap_free(&fixture.store, 4), FP_SWAP_OK);
                EXPECT_EQ(fp_swap_free(&fixture.store, 2), FP_SWAP_OK);
                EXPECT_EQ(used_bytes(), FIRST + 1000);
                close_store();
            }
        }
    }
}

/* Makes random calls on a full store with flipped bits and failing calls. Reads return the right
 * page or an error, and no bytes leak. */
static void damage(uint64_t seed)
{
    uint64_t random = seed;
    open_store(1000, 40, 1024, 100, 150);
    uint64_t seeds[100] = {0};
    uint32_t sizes[100] = {0};
    uint32_t corrupt = 0, full = 0, io = 0;
    for (uint32_t call = 0; call < 4000; call++) {
        uint32_t slot = random_below(&random, 100);
        test_at("seed %llu, call %u", (unsigned long long)seed, call);
        if (random_below(&random, 50) == 0)
            fixture.bytes[random_below(&random, fixture.size)] ^=
                (uint8_t)(1u << random_below(&random, 8));
        if (random_below(&random, 50) == 0)
            fixture.fail_read = 1 + random_below(&random, 6);
        if (random_below(&random, 50) == 0)
            fixture.fail_program = 1 + random_below(&random, 6);
        if (random_below(&random, 10) == 0) {
            if (fp_swap_free(&fixture.store, slot) == FP_SWAP_OK)
                sizes[slot] = 0;
        } else {
            uint32_t size = 20 + random_below(&random, 780);
            int error = put(slot, size, call);
            if (error == FP_SWAP_OK) {
                sizes[slot] = size;
                seeds[slot] = call;
            }
            full += error == FP_SWAP_FULL;
            io += error == FP_SWAP_IO;
        }
        slot = random_below(&random, 100);
        int is = holds(slot, sizes[slot], seeds[slot]);
        EXPECT(is == FP_SWAP_OK || is == FP_SWAP_CORRUPT || is == FP_SWAP_IO ||
               (is == FP_SWAP_EMPTY && !sizes[slot]));
        corrupt += is == FP_SWAP_CORRUPT;
        if (call % 100 == 0) {
            fixture.fail_read = 0;
            for (slot = 0; slot < 100; slot++)
                (void)holds(slot, sizes[slot], seeds[slot]); /* finds wrong headers */
            check();
        }
    }
    fixture.fail_read = 0;
    for (uint32_t slot = 0; slot < 100; slot++)
        EXPECT_EQ(fp_swap_free(&fixture.store, slot), FP_SWAP_OK);
    EXPECT_EQ(used_bytes(), 0);
    EXPECT(corrupt > 10 && full > 10 && io > 10);
    close_store();
}

static void damaged_at_random(void)
{
    for (uint32_t seed = 0; seed < test_rounds(10); seed++)
        damage(seed);
}

static void one_slot_wears_all(void)
{
    open_store(65536, 1, 4096, 4, 5);
    for (uint32_t turn = 0; turn < 40000; turn++)
        EXPECT_EQ(put(0, 500, turn), FP_SWAP_OK);
    uint64_t most = 0, sum = 0;
    for (uint32_t i = 0; i < fixture.size / 64; i++) {
        most = fixture.written[i] > most ? fixture.written[i] : most;
        sum += fixture.written[i];
    }
    test_at("%llu at most of %llu", (unsigned long long)most,
            (unsigned long long)(sum / (fixture.size / 64)));
    EXPECT(most * (fixture.size / 64) < sum * 5 / 4);
    close_store();
}

/* Overwrites pages of 200 to 2000 bytes again and again: headers must cost less than 2 % of the
 * data, and the data must fill over 93 % of the medium. */
static void fills(void)
{
    uint64_t random = 3;
    open_store(65536, 16, 4096, 1050, 1575);
    uint64_t full = 0;
    for (uint32_t call = 0; call < 1050 * 20; call++) {
        uint32_t slot = call < 1050 ? call : random_below(&random, 1050);
        int error = put(slot, 200 + random_below(&random, 1800), call);
        EXPECT(error == FP_SWAP_OK || error == FP_SWAP_FULL);
        full += error == FP_SWAP_FULL;
    }
    EXPECT(full > 100);
    struct fp_swap_stat stat;
    fp_swap_stat(&fixture.store, &stat);
    test_at("data %llu, used %llu of %llu", (unsigned long long)stat.compr_data_size,
            (unsigned long long)stat.mem_used_total, (unsigned long long)stat.mem_limit);
    EXPECT(stat.compr_data_size * 100 > stat.mem_limit * 93);
    EXPECT(stat.mem_used_total * 100 < stat.compr_data_size * 102);
    check();
    close_store();
}

static const struct test tests[] = {
    {"fragments_records_as_documented", records_as_documented},
    {"fragments_splits", splits},
    {"fragments_merges", merges},
    {"fragments_largest_first", largest_first},
    {"fragments_full_keeps_the_slot", full_keeps_the_slot},
    {"fragments_pieces_have_a_bound", pieces_have_a_bound},
    {"fragments_flipped_headers", flipped_headers},
    {"fragments_failing_calls", failing_calls},
    {"fragments_damaged_at_random", damaged_at_random},
    {"fragments_one_slot_wears_all", one_slot_wears_all},
    {"fragments_fills", fills},
    {0},
};

TEST_LIST(tests)
