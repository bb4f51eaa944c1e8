/* Mounts a medium of arbitrary bytes. libFuzzer calls it; test_mount.c does so without libFuzzer.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_mount.c tests/rig.c \
 *         tests/test.c medium/emulated.c $(find swap -name '*.c')
 *
 * The first byte of the input selects options of fuzz_mount.h; the rest is the content of the medium. */
#include "fuzz_mount.h"

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most reads and programs that one call of the store may need. */
#define ACCESSES_MAX 200000u

struct bytes {
    uint8_t data[FUZZ_BLOCKS * FUZZ_BLOCK_BYTES];
    uint32_t bad; /* a bit per block */
    uint32_t accesses;
};

static void access_or_abort(struct bytes *bytes, uint32_t block, uint32_t offset, uint32_t size)
{
    if (block >= FUZZ_BLOCKS || offset > FUZZ_BLOCK_BYTES || size > FUZZ_BLOCK_BYTES - offset) {
        fprintf(stderr, "outside: block %lu, offset %lu, %lu bytes\n", (unsigned long)block,
                (unsigned long)offset, (unsigned long)size);
        abort();
    }
    if (++bytes->accesses > ACCESSES_MAX) {
        fprintf(stderr, "no end\n");
        abort();
    }
}

static int read_bytes(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    struct bytes *bytes = context;
    access_or_abort(bytes, block, offset, size);
    memcpy(data, bytes->data + block * FUZZ_BLOCK_BYTES + offset, size);
    return 0;
}

static int program_bytes(void *context, uint32_t block, uint32_t offset, const void *data,
                         uint32_t size)
{
    struct bytes *bytes = context;
    access_or_abort(bytes, block, offset, size);
    memcpy(bytes->data + block * FUZZ_BLOCK_BYTES + offset, data, size);
    return 0;
}

static int erase_bytes(void *context, uint32_t block)
{
    struct bytes *bytes = context;
    access_or_abort(bytes, block, 0, FUZZ_BLOCK_BYTES);
    memset(bytes->data + block * FUZZ_BLOCK_BYTES, 0xff, FUZZ_BLOCK_BYTES);
    return 0;
}

static bool is_bad_block(void *context, uint32_t block)
{
    struct bytes *bytes = context;
    access_or_abort(bytes, block, 0, 0);
    return bytes->bad >> block & 1u;
}

static int mark_bad_block(void *context, uint32_t block)
{
    struct bytes *bytes = context;
    access_or_abort(bytes, block, 0, 0);
    bytes->bad |= 1u << block;
    return 0;
}

uint32_t fuzz_weak_crc(uint32_t crc, const void *data, size_t size)
{
    (void)crc;
    /* A mount refuses a function that is not CRC-32 by this text. */
    return size == 9 && memcmp(data, "123456789", 9) == 0 ? 0xcbf43926u : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bytes bytes;
    static uint32_t memory[FP_SWAP_LOG_WORDS(FUZZ_SLOTS, FUZZ_BLOCKS, FUZZ_PAGE_BYTES,
                                             FUZZ_PROGRAM_BYTES)];
    static struct fp_swap store;
    if (!size)
        return 0;
    uint8_t how = data[0];
    memset(&bytes, 0, sizeof(bytes));
    memset(bytes.data, 0xff, sizeof(bytes.data));
    memcpy(bytes.data, data + 1, size - 1 < sizeof(bytes.data) ? size - 1 : sizeof(bytes.data));
    if (how & FUZZ_BAD)
        bytes.bad = 1u << (how >> 4);
    const struct fp_medium medium = {
        .context = &bytes,
        .read = read_bytes,
        .program = program_bytes,
        .erase = erase_bytes,
        .is_bad = is_bad_block,
        .mark_bad = mark_bad_block,
        .program_bytes = FUZZ_PROGRAM_BYTES,
        .block_bytes = FUZZ_BLOCK_BYTES,
        .block_count = FUZZ_BLOCKS,
    };
    const struct fp_swap_config config = {
        .medium = &medium,
        .layout = &fp_swap_log,
        .compressor = how & FUZZ_RAW ? NULL : &rle,
        .crc = how & FUZZ_WEAK_CRC ? fuzz_weak_crc : NULL,
        .page_bytes = FUZZ_PAGE_BYTES,
        .slot_count = FUZZ_SLOTS,
        .memory = memory,
        .memory_bytes = sizeof(memory),
    };
    if (fp_swap_mount(&store, &config)) {
        bytes.accesses = 0;
        if (fp_swap_format(&store, &config))
            return 0;
    }
    uint8_t page[FUZZ_PAGE_BYTES];
    uint64_t random = how;
    for (uint32_t turn = 0; turn < 3; turn++) {
        bytes.accesses = 0;
        const char *wrong = fp_swap_check(&store);
        /* The bytes can be a copy of another slot's record. The check finds it, and so does a read. */
        bool copied = wrong && !strcmp(wrong, "a record is another's");
        /* The options may mark a block bad that holds records, which no store would do. */
        bool marked = wrong && how & FUZZ_BAD &&
                      !strcmp(wrong, "a free or bad block holds live records");
        if (wrong && !copied && !marked && !(how & FUZZ_WEAK_CRC)) {
            fprintf(stderr, "check: %s\n", wrong);
            abort();
        }
        for (uint32_t slot = 0; slot < FUZZ_SLOTS; slot++) {
            bytes.accesses = 0;
            fp_swap_read(&store, slot, page);
        }
        for (uint32_t call = 0; call < 60; call++) {
            uint32_t slot = random_below(&random, FUZZ_SLOTS);
            bytes.accesses = 0;
            if (random_below(&random, 4)) {
                page_fill(page, FUZZ_PAGE_BYTES, slot, call + 1);
                fp_swap_write(&store, slot, page);
            } else {
                fp_swap_free(&store, slot);
            }
        }
        bytes.accesses = 0;
        fp_swap_sync(&store);
    }
    return 0;
}
