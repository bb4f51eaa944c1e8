/* Mounts of random bytes, and of stores that were changed afterwards. */
#include "fuzz_mount.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define BYTES (FUZZ_BLOCKS * FUZZ_BLOCK_BYTES)

static void random_bytes(void)
{
    static uint8_t input[1 + BYTES];
    uint32_t first = test_first(), rounds = test_rounds(2000);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        uint64_t random = seed;
        test_at("seed %u", (unsigned)seed);
        for (uint32_t i = 0; i < sizeof(input); i++)
            input[i] = (uint8_t)random_next(&random);
        if (seed % 2) /* sparse */
            for (uint32_t i = 1; i < sizeof(input); i++)
                input[i] = input[i] % 16 ? 0xff : input[i];
        LLVMFuzzerTestOneInput(input, random_below(&random, sizeof(input) + 1));
    }
}

/* Copies the medium of a store after some random calls. */
static void make_image(uint8_t *image, uint64_t seed, bool weak)
{
    const struct rig_shape shape = {
        .layout = RIG_LOG,
        .medium = {.program_bytes = FUZZ_PROGRAM_BYTES,
                   .block_bytes = FUZZ_BLOCK_BYTES,
                   .block_count = FUZZ_BLOCKS,
                   .seed = seed},
        .page_bytes = FUZZ_PAGE_BYTES,
        .slot_count = FUZZ_SLOTS,
    };
    struct rig rig;
    struct history history;
    uint64_t random = seed;
    rig_open(&rig, &shape);
    history_open(&history, FUZZ_SLOTS);
    if (weak)
        rig.config.crc = fuzz_weak_crc;
    EXPECT_EQ(rig_format(&rig), FP_SWAP_OK);
    work(&rig, &history, &random, random_below(&random, 600));
    EXPECT_EQ(fp_swap_sync(&rig.store), FP_SWAP_OK);
    memcpy(image, fp_emulated_bytes(rig.emulated), BYTES);
    history_close(&history);
    rig_close(&rig);
}

static void mutate(uint8_t *image, uint64_t *random)
{
    uint32_t at = random_below(random, BYTES), from = random_below(random, BYTES);
    uint32_t page = at / FUZZ_PROGRAM_BYTES * FUZZ_PROGRAM_BYTES;
    uint32_t other = from / FUZZ_PROGRAM_BYTES * FUZZ_PROGRAM_BYTES;
    static const uint32_t words[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x3000, 0xfffe, 0xffff,
                                     0x7fffffff, 0x30000000, 0xfffffffe, 0xffffffff};
    uint32_t word = words[random_below(random, sizeof(words) / sizeof(*words))];
    switch (random_below(random, 8)) {
    case 0: /* flips a bit */
        image[at] ^= (uint8_t)(1u << random_below(random, 8));
        break;
    case 1: /* changes a byte */
        image[at] = (uint8_t)random_next(random);
        break;
    case 2: /* an extreme number, mostly in header and trailer */
    case 3:
        if (random_below(random, 4))
            at = page + (random_below(random, 2) ? random_below(random, 36)
                                                 : FUZZ_PROGRAM_BYTES - 1 -
                                                       random_below(random, 40));
        at = at & ~1u;
        memcpy(image + at, &word, at + 4 <= BYTES && random_below(random, 2) ? 4 : 2);
        break;
    case 4: /* a page from another place */
        memmove(image + page, image + other, FUZZ_PROGRAM_BYTES);
        break;
    case 5: /* a block from another place */
        page = at / FUZZ_BLOCK_BYTES * FUZZ_BLOCK_BYTES;
        other = from / FUZZ_BLOCK_BYTES * FUZZ_BLOCK_BYTES;
        memmove(image + page, image + other, FUZZ_BLOCK_BYTES);
        break;
    case 6: /* erases */
        memset(image + page, 0xff, FUZZ_PROGRAM_BYTES);
        break;
    case 7: { /* changes a number a little */
        at = page + (random_below(random, 2)
                         ? random_below(random, 36)
                         : FUZZ_PROGRAM_BYTES - 1 - random_below(random, 40));
        image[at] = (uint8_t)(image[at] + (random_below(random, 2) ? 1 : -1));
        break;
    }
    }
}

static void mutated(bool weak, uint32_t count)
{
    static uint8_t image[BYTES], input[1 + BYTES];
    uint32_t first = test_first(), rounds = test_rounds(count);
    for (uint32_t seed = first; seed < first + rounds; seed++) {
        if (seed % 16 == 0 || seed == first)
            make_image(image, seed / 16, weak);
        uint64_t random = (uint64_t)weak << 32 | seed;
        memcpy(input + 1, image, BYTES);
        for (uint32_t i = 1u << random_below(&random, 7); i > 0; i--)
            mutate(input + 1, &random);
        test_at("seed %u", (unsigned)seed);
        input[0] = (uint8_t)((weak ? FUZZ_WEAK_CRC : 0) |
                             (random_below(&random, 8) ? 0 : FUZZ_RAW) |
                             (random_below(&random, 4) ? 0 : FUZZ_BAD) |
                             random_below(&random, 16) << 4);
        LLVMFuzzerTestOneInput(input, sizeof(input));
    }
}

static void mutated_stores(void)
{
    mutated(false, 3000);
}

static void mutated_stores_that_no_crc_guards(void)
{
    mutated(true, 3000);
}

static const struct test tests[] = {
    {"mount_random_bytes", random_bytes},
    {"mount_mutated_stores", mutated_stores},
    {"mount_mutated_stores_that_no_crc_guards", mutated_stores_that_no_crc_guards},
    {0},
};

TEST_LIST(tests)
