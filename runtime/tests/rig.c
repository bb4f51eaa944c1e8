#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define GUARD UINT32_C(0xa5c35a3c)

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        FAIL("no memory");
    return memory;
}

static int watched_read(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    struct rig *rig = context;
    const struct fp_medium *medium = fp_emulated_medium(rig->emulated);
    if (rig->blind)
        return FP_MEDIUM_IO;
    if (rig->failing_reads_at > 0) {
        rig->failing_reads_at--;
    } else if (rig->failing_reads > 0) {
        rig->failing_reads--;
        return FP_MEDIUM_IO;
    }
    if (block == rig->unreadable_block && offset < rig->unreadable_offset + medium->program_bytes &&
        offset + size > rig->unreadable_offset)
        return FP_MEDIUM_IO;
    return medium->read(medium->context, block, offset, data, size);
}

static int watched_program(void *context, uint32_t block, uint32_t offset, const void *data,
                           uint32_t size)
{
    struct rig *rig = context;
    const struct fp_medium *medium = fp_emulated_medium(rig->emulated);
    int result = medium->program(medium->context, block, offset, data, size);
    rig->failures += result < 0 && !fp_emulated_is_off(rig->emulated);
    rig->last_block = block;
    rig->last_offset = offset;
    return result;
}

static int watched_erase(void *context, uint32_t block)
{
    struct rig *rig = context;
    const struct fp_medium *medium = fp_emulated_medium(rig->emulated);
    int result = medium->erase(medium->context, block);
    if (result >= 0 && block == rig->unreadable_block)
        rig->unreadable_block = RIG_NONE;
    rig->failures += result < 0 && !fp_emulated_is_off(rig->emulated);
    return result;
}

static bool watched_is_bad(void *context, uint32_t block)
{
    const struct fp_medium *medium = fp_emulated_medium(((struct rig *)context)->emulated);
    return medium->is_bad(medium->context, block);
}

static int watched_mark_bad(void *context, uint32_t block)
{
    const struct fp_medium *medium = fp_emulated_medium(((struct rig *)context)->emulated);
    return medium->mark_bad(medium->context, block);
}

/* Overwrites a released block, so that a store that still reads it fails its test. */
static void watched_release(void *context, uint32_t block)
{
    struct rig *rig = context;
    const struct fp_medium *medium = fp_emulated_medium(rig->emulated);
    static const uint8_t gone[] = {0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb};
    EXPECT(block < medium->block_count);
    rig->releases++;
    for (uint32_t at = 0; at + sizeof(gone) <= medium->block_bytes; at += sizeof(gone))
        (void)medium->program(medium->context, block, at, gone, sizeof(gone));
}

size_t rig_words(const struct rig_shape *shape)
{
    return shape->layout == RIG_LOG
               ? FP_SWAP_LOG_WORDS(shape->slot_count, shape->medium.block_count,
                                   shape->page_bytes, shape->medium.program_bytes)
               : FP_SWAP_FRAGMENT_WORDS(shape->slot_count, shape->chunk_count,
                                        shape->page_bytes);
}

void rig_open(struct rig *rig, const struct rig_shape *shape)
{
    memset(rig, 0, sizeof(*rig));
    rig->shape = *shape;
    rig->unreadable_block = RIG_NONE;
    rig->emulated = fp_emulated_open(&shape->medium);
    EXPECT(rig->emulated);
    rig->medium = *fp_emulated_medium(rig->emulated);
    rig->medium.context = rig;
    rig->medium.read = watched_read;
    rig->medium.program = watched_program;
    if (rig->medium.erase) {
        rig->medium.erase = watched_erase;
        rig->medium.is_bad = watched_is_bad;
        rig->medium.mark_bad = watched_mark_bad;
    }
    if (shape->releasing)
        rig->medium.release = watched_release;
    rig->memory_words = rig_words(shape);
    rig->memory = allocate((rig->memory_words + 2) * sizeof(uint32_t));
    rig->memory[0] = rig->memory[rig->memory_words + 1] = GUARD;
    if (shape->layout == RIG_REWRITER) {
        rig->rewriter_block = allocate(shape->medium.block_bytes);
        rig->rewriter_good = allocate(shape->medium.block_count * sizeof(uint32_t));
    }
    rig->config = (struct fp_swap_config){
        .medium = shape->layout == RIG_REWRITER ? &rig->rewriter.medium : &rig->medium,
        .layout = shape->layout == RIG_LOG ? &fp_swap_log : &fp_swap_fragments,
        .compressor = shape->raw ? NULL : &rle,
        .page_bytes = shape->page_bytes,
        .slot_count = shape->slot_count,
        .chunk_count = shape->chunk_count,
        .memory = rig->memory + 1,
        .memory_bytes = rig->memory_words * sizeof(uint32_t),
    };
}

void rig_close(struct rig *rig)
{
    fp_emulated_close(rig->emulated);
    free(rig->memory);
    free(rig->rewriter_block);
    free(rig->rewriter_good);
}

static int start(struct rig *rig, int (*how)(struct fp_swap *, const struct fp_swap_config *))
{
    rig->starts++;
    /* The old contents of memory must not matter. */
    memset(rig->memory + 1, 0x6b, rig->memory_words * sizeof(uint32_t));
    memset(&rig->store, 0x6b, sizeof(rig->store));
    if (rig->shape.layout == RIG_REWRITER) {
        int error = fp_swap_rewriter_init(&rig->rewriter, &rig->medium, rig->rewriter_block,
                                          rig->rewriter_good);
        if (error)
            return error;
    }
    return how(&rig->store, &rig->config);
}

int rig_format(struct rig *rig)
{
    return start(rig, fp_swap_format);
}

int rig_mount(struct rig *rig)
{
    return start(rig, fp_swap_mount);
}

void rig_check(struct rig *rig)
{
    const char *wrong = fp_swap_check(&rig->store);
    if (wrong)
        FAIL("check: %s", wrong);
    EXPECT(rig->memory[0] == GUARD && rig->memory[rig->memory_words + 1] == GUARD);
}

void rig_check_wear(struct rig *rig)
{
    for (uint32_t block = 0; block < rig->shape.medium.block_count; block++) {
        uint32_t counted = fp_swap_erase_count(&rig->store, block);
        uint32_t wear = fp_emulated_wear(rig->emulated, block);
        uint32_t apart = counted > wear ? counted - wear : wear - counted;
        if (!fp_emulated_is_bad(rig->emulated, block) && apart > 2 * rig->starts + rig->failures)
            FAIL("block %u counts %u erasures of %u; %u starts, %u failures", (unsigned)block,
                 (unsigned)counted, (unsigned)wear, (unsigned)rig->starts,
                 (unsigned)rig->failures);
    }
}

void page_fill(uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version)
{
    uint64_t random = (uint64_t)slot << 32 | version;
    uint64_t kind = random_next(&random);
    uint32_t noise = page_bytes; /* bytes of noise, before runs */
    if (kind % 8 == 0) {
        uint32_t word = (uint32_t)(kind >> 32);
        for (uint32_t at = 0; at < page_bytes; at += 4)
            memcpy(page + at, &word, 4);
        return;
    }
    if (kind % 8 > 2)
        noise = random_below(&random, page_bytes + 1) / 4 * 4;
    for (uint32_t at = 0; at < noise; at += 8) {
        uint64_t eight = random_next(&random);
        memcpy(page + at, &eight, noise - at < 8 ? noise - at : 8);
    }
    if (noise < page_bytes)
        memset(page + noise, (int)(kind >> 40), page_bytes - noise);
    memcpy(page, &version, 4);
}

bool page_is(const uint8_t *page, uint32_t page_bytes, uint32_t slot, uint32_t version)
{
    uint8_t expected[RIG_PAGE_BYTES_MAX];
    page_fill(expected, page_bytes, slot, version);
    return !memcmp(page, expected, page_bytes);
}

/* Run lengths: a count n below 128 precedes n + 1 literal bytes; a larger one precedes a byte that
 * is repeated n - 126 times. */
static uint32_t rle_compress(void *context, const uint8_t *page, uint32_t page_bytes, uint8_t *out,
                             uint32_t capacity)
{
    uint32_t at = 0, size = 0, plain = 0;
    (void)context;
    while (at < page_bytes) {
        uint32_t run = 1;
        while (at + run < page_bytes && run < 129 && page[at + run] == page[at])
            run++;
        if (run < 3) {
            run = 1;
            if (!plain || out[plain - 1] == 127) {
                if (capacity - size < 2)
                    return 0;
                out[size++] = 0;
                plain = size;
            } else {
                if (capacity - size < 1)
                    return 0;
                out[plain - 1]++;
            }
            out[size++] = page[at];
        } else {
            if (capacity - size < 2)
                return 0;
            out[size++] = (uint8_t)(run + 126);
            out[size++] = page[at];
            plain = 0;
        }
        at += run;
    }
    return size;
}

static int rle_decompress(void *context, const uint8_t *data, uint32_t size, uint8_t *page,
                          uint32_t page_bytes)
{
    uint32_t at = 0, from = 0;
    (void)context;
    while (from < size) {
        uint32_t code = data[from++];
        uint32_t count = code < 128 ? code + 1 : code - 126;
        uint32_t needs = code < 128 ? count : 1;
        if (count > page_bytes - at || needs > size - from)
            return -1;
        if (code < 128)
            memcpy(page + at, data + from, count);
        else
            memset(page + at, data[from], count);
        from += needs;
        at += count;
    }
    return at == page_bytes ? 0 : -1;
}

const struct fp_compressor rle = {.compress = rle_compress, .decompress = rle_decompress, .name = "rle"};

void history_open(struct history *history, uint32_t slot_count)
{
    memset(history, 0, sizeof(*history));
    history->slot_count = slot_count;
    history->slots = allocate(slot_count * sizeof(*history->slots));
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        struct slot_history *s = &history->slots[slot];
        s->capacity = 4;
        s->versions = allocate(s->capacity * sizeof(*s->versions));
        s->versions[0] = (struct version){0, 0};
        s->count = 1;
    }
}

void history_close(struct history *history)
{
    for (uint32_t slot = 0; slot < history->slot_count; slot++)
        free(history->slots[slot].versions);
    free(history->slots);
}

void history_put(struct history *history, uint32_t slot, uint32_t version)
{
    struct slot_history *s = &history->slots[slot];
    if (s->count == s->capacity) {
        s->capacity *= 2;
        s->versions = realloc(s->versions, s->capacity * sizeof(*s->versions));
        EXPECT(s->versions);
    }
    s->versions[s->count++] = (struct version){version, ++history->calls};
}

void history_undo(struct history *history, uint32_t slot)
{
    history->slots[slot].count--;
    history->calls--;
}

uint32_t history_now(const struct history *history, uint32_t slot)
{
    const struct slot_history *s = &history->slots[slot];
    return s->versions[s->count - 1].version;
}

static void settle(struct history *history, uint64_t call)
{
    for (uint32_t slot = 0; slot < history->slot_count; slot++) {
        struct slot_history *s = &history->slots[slot];
        uint32_t last = s->count - 1;
        while (last > 0 && s->versions[last].from > call)
            last--;
        s->versions[0] = (struct version){s->versions[last].version, call};
        s->count = 1;
    }
    history->calls = history->synced = call;
}

void history_sync(struct history *history)
{
    settle(history, history->calls);
}

uint64_t history_recover(struct history *history, struct rig *rig)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    size_t window = (size_t)(history->calls - history->synced + 1);
    uint32_t *matches = allocate(window * sizeof(*matches)); /* slots, by call */
    memset(matches, 0, window * sizeof(*matches));
    for (uint32_t slot = 0; slot < history->slot_count; slot++) {
        const struct slot_history *s = &history->slots[slot];
        int error = fp_swap_read(&rig->store, slot, page);
        bool known = false;
        if (error != FP_SWAP_OK && error != FP_SWAP_EMPTY)
            FAIL("slot %u reads %d", (unsigned)slot, error);
        EXPECT_EQ(fp_swap_holds(&rig->store, slot), error == FP_SWAP_OK);
        for (uint32_t i = 0; i < s->count; i++) {
            uint32_t version = s->versions[i].version;
            if (version ? error || !page_is(page, rig->shape.page_bytes, slot, version)
                        : error != FP_SWAP_EMPTY)
                continue;
            known = true;
            uint64_t end = i + 1 < s->count ? s->versions[i + 1].from : history->calls + 1;
            for (uint64_t call = s->versions[i].from; call < end; call++)
                matches[call - history->synced]++;
        }
        if (!known)
            FAIL("slot %u holds %s", (unsigned)slot,
                 error ? "no page, and was never without since the last sync"
                       : "a page that it did not hold since the last sync");
    }
    size_t found = window;
    uint32_t most = 0;
    for (size_t i = 0; i < window; i++) {
        if (matches[i] == history->slot_count)
            found = i;
        most = matches[i] > most ? matches[i] : most;
    }
    free(matches);
    if (found == window)
        FAIL("the store is as after none of the calls since the last sync: at best %u of %u slots",
             (unsigned)most, (unsigned)history->slot_count);
    uint64_t call = history->synced + found;
    settle(history, call);
    return call;
}

void work(struct rig *rig, struct history *history, uint64_t *random, uint32_t calls)
{
    uint8_t page[RIG_PAGE_BYTES_MAX];
    uint32_t page_bytes = rig->shape.page_bytes;
    while (calls-- && !fp_emulated_is_off(rig->emulated)) {
        uint32_t what = random_below(random, 100);
        uint32_t few = history->slot_count / 5 + 1;
        uint32_t slot = random_below(random, random_below(random, 2) ? history->slot_count : few);
        int error;
        if (what < 60) {
            uint32_t version = ++history->last_version;
            page_fill(page, page_bytes, slot, version);
            history_put(history, slot, version);
            error = fp_swap_write(&rig->store, slot, page);
            if (fp_emulated_is_off(rig->emulated))
                return;
            if (error == FP_SWAP_FULL)
                history_undo(history, slot);
            else
                EXPECT_EQ(error, FP_SWAP_OK);
        } else if (what < 75) {
            history_put(history, slot, 0);
            error = fp_swap_free(&rig->store, slot);
            if (fp_emulated_is_off(rig->emulated))
                return;
            EXPECT_EQ(error, FP_SWAP_OK);
        } else if (what < 95) {
            uint32_t version = history_now(history, slot);
            error = fp_swap_read(&rig->store, slot, page);
            EXPECT_EQ(error, version ? FP_SWAP_OK : FP_SWAP_EMPTY);
            if (version && !page_is(page, page_bytes, slot, version))
                FAIL("slot %u reads another page", (unsigned)slot);
        } else {
            error = fp_swap_sync(&rig->store);
            if (fp_emulated_is_off(rig->emulated))
                return;
            EXPECT_EQ(error, FP_SWAP_OK);
            history_sync(history);
        }
    }
}
