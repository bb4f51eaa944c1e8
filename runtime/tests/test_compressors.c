/* The compressors: heatshrink always; deflate, LZ4 and zstd if their libraries are installed. */
#include "../compress/heatshrink.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#ifdef WITH_DEFLATE
#include "../compress/deflate.h"
#endif
#ifdef WITH_LZ4
#include "../compress/lz4.h"
#endif
#ifdef WITH_ZSTD
#include "../compress/zstd.h"
#endif

#define PAGE_MAX 32768u
#define KINDS 4u

enum { HEATSHRINK, DEFLATE, LZ4, ZSTD, COMPRESSORS };
static const char *const names[COMPRESSORS] = {"heatshrink", "deflate", "lz4", "zstd"};

/* Returns a compressor for pages of a size, with no more memory than it needs, or NULL if its library
 * is not installed. */
static const struct fp_compressor *open_compressor(int which, uint32_t page_bytes, void **memory)
{
    static struct fp_heatshrink heatshrink;

    *memory = NULL;
    (void)page_bytes;
    if (which == HEATSHRINK) {
        fp_heatshrink_init(&heatshrink);
        return &heatshrink.compressor;
    }
#ifdef WITH_DEFLATE
    if (which == DEFLATE) {
        static struct fp_deflate deflate;
        size_t bytes = FP_DEFLATE_BYTES(page_bytes);
        *memory = malloc(bytes);
        EXPECT(*memory);
        EXPECT_EQ(fp_deflate_init(&deflate, page_bytes, *memory, bytes / 2),
                  FP_COMPRESSOR_INVALID);
        EXPECT_EQ(fp_deflate_init(&deflate, page_bytes, *memory, bytes), FP_COMPRESSOR_OK);
        return &deflate.compressor;
    }
#endif
#ifdef WITH_LZ4
    if (which == LZ4) {
        static struct fp_lz4 lz4;
        *memory = malloc(FP_LZ4_BYTES);
        EXPECT(*memory);
        EXPECT_EQ(fp_lz4_init(&lz4, *memory, FP_LZ4_BYTES / 2), FP_COMPRESSOR_INVALID);
        EXPECT_EQ(fp_lz4_init(&lz4, *memory, FP_LZ4_BYTES), FP_COMPRESSOR_OK);
        return &lz4.compressor;
    }
#endif
#ifdef WITH_ZSTD
    if (which == ZSTD) {
        static struct fp_zstd zstd;
        size_t bytes = FP_ZSTD_BYTES(page_bytes);
        *memory = malloc(bytes);
        EXPECT(*memory);
        EXPECT_EQ(fp_zstd_init(&zstd, page_bytes, *memory, bytes / 2), FP_COMPRESSOR_INVALID);
        EXPECT_EQ(fp_zstd_init(&zstd, page_bytes, *memory, bytes), FP_COMPRESSOR_OK);
        return &zstd.compressor;
    }
#endif
    return NULL;
}

/* Fills a page with random bytes, runs of bytes, small words, or one byte among zeros. */
static void fill(uint8_t *page, uint32_t page_bytes, uint32_t kind, uint64_t *random)
{
    memset(page, 0, page_bytes);
    for (uint32_t at = 0; at < page_bytes;) {
        uint32_t run = kind == 1 ? 1 + random_below(random, 40) : 1;
        uint8_t byte = (uint8_t)(kind == 2   ? at % 4 ? 0 : at / 16
                                 : kind == 3 ? (at == page_bytes / 2 ? 7 : 0)
                                             : random_next(random));
        while (run-- && at < page_bytes)
            page[at++] = byte;
    }
}

/* Copies bytes to an exact allocation, so that an access outside is found. */
static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    EXPECT(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

static void keep_pages(void)
{
    static const uint32_t sizes[] = {64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    static uint8_t page[PAGE_MAX], back[PAGE_MAX];
    uint64_t random = 5;
    for (int which = 0; which < COMPRESSORS; which++) {
        for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            void *memory;
            const struct fp_compressor *compressor = open_compressor(which, sizes[i], &memory);
            for (uint32_t kind = 0; compressor && kind < KINDS; kind++) {
                test_at("%s, page of %u, kind %u", names[which], sizes[i], kind);
                fill(page, sizes[i], kind, &random);
                uint8_t *out = malloc(sizes[i]);
                uint32_t size =
                    compressor->compress(compressor->context, page, sizes[i], out, sizes[i] - 1);
                /* Random bytes do not shrink; the others do if there are enough of them. */
                EXPECT(kind != 0 || size == 0);
                EXPECT(kind == 0 || sizes[i] < 256 || (size > 0 && size < sizes[i] / 2));
                if (size) {
                    uint8_t *data = copy_of(out, size);
                    EXPECT_EQ(
                        compressor->decompress(compressor->context, data, size, back, sizes[i]),
                        0);
                    EXPECT(!memcmp(page, back, sizes[i]));
                    /* One byte less, or a page of another size, is wrong. */
                    EXPECT(compressor->decompress(compressor->context, data, size - 1, back,
                                                  sizes[i]));
                    EXPECT(compressor->decompress(compressor->context, data, size, back,
                                                  sizes[i] - 4));
                    EXPECT(sizes[i] == PAGE_MAX ||
                           compressor->decompress(compressor->context, data, size, back,
                                                  sizes[i] + 4));
                    free(data);
                    /* The compressor writes nothing beyond its output buffer. */
                    for (uint32_t room = size + 1; room-- > (size > 40 ? size - 40 : 0);) {
                        data = malloc(room ? room : 1);
                        uint32_t again =
                            compressor->compress(compressor->context, page, sizes[i], data, room);
                        EXPECT(again == 0 || (again <= room && again == size));
                        free(data);
                        if (sizes[i] > 4096)
                            break;
                    }
                }
                free(out);
            }
            free(memory);
        }
    }
}

static void survive_any_bytes(void)
{
    static uint8_t page[4096], data[4096], back[4096];
    uint64_t random = 11;
    uint32_t rounds = test_rounds(2500);
    for (int which = 0; which < COMPRESSORS; which++) {
        void *memory;
        const struct fp_compressor *compressor = open_compressor(which, 4096, &memory);
        uint32_t intact = 0;
        for (uint32_t round = 0; compressor && round < rounds; round++) {
            uint32_t page_bytes = random_below(&random, 4) ? 4096 : 64;
            uint32_t size = 1 + random_below(&random, random_below(&random, 2) ? 4095 : 200);
            test_at("%s, round %u", names[which], round);
            fill(data, size, 0, &random);
            if (round % 4) {
                fill(page, page_bytes, 1 + random_below(&random, KINDS - 1), &random);
                uint32_t made = compressor->compress(compressor->context, page, page_bytes, data,
                                                     page_bytes - 1);
                size = made ? made : size;
                for (uint32_t flips = round % 3; flips > 0; flips--)
                    data[random_below(&random, size)] ^=
                        (uint8_t)(1u << random_below(&random, 8));
                if (random_below(&random, 8) == 0)
                    size = 1 + random_below(&random, size);
            }
            uint8_t *exact = copy_of(data, size);
            uint8_t *out = malloc(page_bytes);
            EXPECT(out);
            intact += !compressor->decompress(compressor->context, exact, size, out, page_bytes);
            free(out);
            free(exact);
            if (round % 100 == 0) {
                /* The compressor works as before. */
                fill(page, 4096, 1, &random);
                size = compressor->compress(compressor->context, page, 4096, data, 4095);
                EXPECT(size > 0);
                EXPECT_EQ(compressor->decompress(compressor->context, data, size, back, 4096), 0);
                EXPECT(!memcmp(page, back, 4096));
            }
        }
        EXPECT(!compressor || (intact > rounds / 8 && intact < rounds));
        free(memory);
    }
}

/* An example from the README of PyPI's heatshrink2, with a window of 11 bits. It has literals only,
 * so it is the same with any window. */
static void heatshrink_vector(void)
{
    static const uint8_t vector[] = {0xb0, 0xc8, 0x2e, 0x77, 0x4b, 0x95, 0xa6, 0xdd, 0x67};
    void *memory;
    const struct fp_compressor *compressor = open_compressor(HEATSHRINK, 8, &memory);
    uint8_t out[16];
    EXPECT_EQ(compressor->compress(compressor->context, (const uint8_t *)"a string", 8, out, 16),
              sizeof(vector));
    EXPECT(!memcmp(out, vector, sizeof(vector)));
    EXPECT_EQ(compressor->decompress(compressor->context, vector, sizeof(vector), out, 8), 0);
    EXPECT(!memcmp(out, "a string", 8));
    EXPECT(FP_HEATSHRINK_BYTES < 1700);
}

static const struct test tests[] = {
    {"compressors_keep_pages", keep_pages},
    {"compressors_survive_any_bytes", survive_any_bytes},
    {"compressors_heatshrink_vector", heatshrink_vector},
    {0},
};

TEST_LIST(tests)
