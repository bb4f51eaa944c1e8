/* The emulated medium of emulated.h.
 *
 * The file has the bytes first, so that any tool can read them, and then the state that a chip
 * keeps beside its bytes: wear, bad blocks, and which flash pages have been programmed.
 *
 *     block_count * block_bytes bytes, padded with 0xff to 8
 *     struct header
 *     struct block [block_count]
 *
 * Numbers are in the byte order of the machine. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "emulated.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "flashpag"
#define VERSION 1u
#define NO_PAGE UINT32_MAX

struct header {
    char magic[8];
    uint32_t version;
    uint32_t program_bytes;
    uint32_t block_bytes;
    uint32_t block_count;
    uint64_t random;
};

struct block {
    uint64_t rewritten_bytes;
    uint32_t erasures;
    uint32_t next_page; /* the first flash page that may be programmed */
    uint8_t bad;
    uint8_t failed; /* a program or an erase failed: no more programs before an erasure */
    uint8_t unused[6];
};

struct fp_emulated {
    struct fp_emulated_config config;
    struct fp_medium medium;
    struct fp_emulated_counters counters;
    uint8_t *bytes;
    struct header *header;
    struct block *blocks;
    size_t total_bytes; /* bytes and state */
    bool in_file;

    /* The data register: one flash page, and where the last read of it ended. */
    uint32_t register_block;
    uint32_t register_page;
    uint32_t register_column;

    uint64_t cut_after;
    enum fp_emulated_cut cut_how;
    bool off;
};

/* splitmix64 */
static uint64_t draw(struct fp_emulated *medium)
{
    uint64_t z = medium->header->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t draw_below(struct fp_emulated *medium, uint32_t bound)
{
    return (uint32_t)((draw(medium) >> 32) * bound >> 32);
}

static bool draw_ppm(struct fp_emulated *medium, uint32_t ppm)
{
    return ppm && draw_below(medium, 1000000) < ppm;
}

_Noreturn static void illegal(const char *message, uint32_t block, uint32_t offset, uint32_t size)
{
    fprintf(stderr, "emulated medium: %s: block %lu, offset %lu, %lu bytes\n", message,
            (unsigned long)block, (unsigned long)offset, (unsigned long)size);
    abort();
}

static uint8_t *bytes_of(const struct fp_emulated *medium, uint32_t block)
{
    return medium->bytes + (size_t)block * medium->config.block_bytes;
}

static bool is_nand(const struct fp_emulated *medium)
{
    return medium->config.program_bytes > 1;
}

static uint32_t pages_per_block(const struct fp_emulated *medium)
{
    return medium->config.block_bytes / medium->config.program_bytes;
}

static void empty_register(struct fp_emulated *medium)
{
    medium->register_page = NO_PAGE;
}

/* Returns true if the power is cut in this program or erase. */
static bool cut_now(struct fp_emulated *medium)
{
    if (!medium->cut_after || --medium->cut_after)
        return false;
    medium->off = true;
    empty_register(medium);
    return true;
}

/* Returns true if a block fails from wear. Beyond its endurance it fails more and more often, and
 * always after another quarter of it. */
static bool worn_out(struct fp_emulated *medium, uint32_t block)
{
    uint32_t endurance = medium->config.endurance_cycles;
    uint32_t wear = fp_emulated_wear(medium, block);
    if (!endurance || wear <= endurance)
        return false;
    uint32_t more = endurance / 4 + 4;
    uint32_t over = wear - endurance;
    return over >= more || draw_below(medium, more) < over;
}

/* Programs `data` as if it was interrupted: the first bytes are complete, the next have some of their
 * bits, and the last are untouched; any of the three may be missing. Cells of NAND change from 1 to 0
 * only; bytes that are rewritten in place change either way. */
static void program_torn(struct fp_emulated *medium, uint8_t *at, const uint8_t *data,
                         uint32_t size)
{
    uint32_t whole = 0, some = 0;
    switch (draw_below(medium, 7)) {
    case 0: /* nothing visible */
        break;
    case 1: /* all but some bits */
        some = size;
        break;
    case 2:
        whole = size;
        break;
    case 3: { /* all but one byte, or a few */
        uint32_t first = draw_below(medium, size), count = 1 + draw_below(medium, 4);
        for (uint32_t i = 0; i < size; i++)
            if (i < first || i - first >= count)
                at[i] = data[i];
        return;
    }
    default:
        whole = draw_below(medium, size + 1);
        some = draw_below(medium, size - whole + 1);
        break;
    }
    bool nearly = some == size;
    memcpy(at, data, whole);
    for (uint32_t i = whole; i < whole + some; i++) {
        uint64_t random = draw(medium);
        uint8_t missed = (uint8_t)random;
        if (nearly)
            missed &= (uint8_t)(random >> 8) & (uint8_t)(random >> 16);
        at[i] = (uint8_t)((at[i] & missed) | (data[i] & ~missed));
    }
}

/* Erases a block as if it was interrupted: each flash page is erased, untouched, or partly erased. */
static void erase_torn(struct fp_emulated *medium, uint32_t block)
{
    uint32_t page_bytes = medium->config.program_bytes;
    uint32_t kind = draw_below(medium, 6);
    uint8_t *at = bytes_of(medium, block);
    for (uint32_t page = 0; page < pages_per_block(medium); page++, at += page_bytes) {
        /* 0: all are untouched; 1: all are erased */
        uint32_t state = kind < 2 ? kind : draw_below(medium, 3);
        if (state == 1)
            memset(at, 0xff, page_bytes);
        for (uint32_t i = 0; state == 2 && i < page_bytes; i++)
            at[i] |= (uint8_t)draw(medium);
    }
}

static void check_block(const struct fp_emulated *medium, uint32_t block, const char *message)
{
    if (block >= medium->config.block_count)
        illegal(message, block, 0, 0);
}

static void check_range(const struct fp_emulated *medium, uint32_t block, uint32_t offset,
                        uint32_t size, const char *message)
{
    uint32_t block_bytes = medium->config.block_bytes;
    if (block >= medium->config.block_count || offset > block_bytes ||
        size > block_bytes - offset)
        illegal(message, block, offset, size);
}

static void load(struct fp_emulated *medium, uint32_t block, uint32_t offset, uint32_t size)
{
    uint32_t page_bytes = medium->config.program_bytes;
    while (size) {
        uint32_t page = offset / page_bytes, column = offset % page_bytes;
        uint32_t here = page_bytes - column < size ? page_bytes - column : size;
        if (medium->register_page != page || medium->register_block != block)
            medium->counters.loads++;
        else if (medium->register_column != column)
            medium->counters.columns++;
        medium->register_block = block;
        medium->register_page = page;
        medium->register_column = column + here;
        offset += here;
        size -= here;
    }
}

static int do_read(void *context, uint32_t block, uint32_t offset, void *data, uint32_t size)
{
    struct fp_emulated *medium = context;
    check_range(medium, block, offset, size, "read outside");
    if (medium->off)
        return FP_MEDIUM_IO;
    medium->counters.reads++;
    medium->counters.read_bytes += size;
    if (is_nand(medium))
        load(medium, block, offset, size);
    memcpy(data, bytes_of(medium, block) + offset, size);
    return draw_ppm(medium, medium->config.corrected_ppm);
}

static int do_program(void *context, uint32_t block, uint32_t offset, const void *data,
                      uint32_t size)
{
    struct fp_emulated *medium = context;
    uint32_t page_bytes = medium->config.program_bytes;
    check_range(medium, block, offset, size, "program outside");
    struct block *state = &medium->blocks[block];
    if (is_nand(medium)) {
        if (offset % page_bytes || size != page_bytes)
            illegal("program of no whole flash page", block, offset, size);
        if (state->bad)
            illegal("program of a bad block", block, offset, size);
        if (state->failed)
            illegal("program after a failure, not erased", block, offset, size);
        if (offset / page_bytes < state->next_page)
            illegal("program twice or out of order", block, offset, size);
    }
    if (medium->off)
        return FP_MEDIUM_IO;
    bool cut = cut_now(medium);
    if (cut && medium->cut_how == FP_EMULATED_CUT_BEFORE)
        return FP_MEDIUM_IO;
    medium->counters.programs++;
    medium->counters.program_bytes += size;
    empty_register(medium);
    /* Half programmed cells, after a cut or a failure, take no further program, even if they look erased. */
    if (is_nand(medium))
        state->next_page = offset / page_bytes + 1;
    else
        state->rewritten_bytes += size;
    uint8_t *at = bytes_of(medium, block) + offset;
    if (cut && medium->cut_how == FP_EMULATED_CUT_TORN) {
        program_torn(medium, at, data, size);
        return FP_MEDIUM_IO;
    }
    if (draw_ppm(medium, medium->config.program_fail_ppm) ||
        (!is_nand(medium) && worn_out(medium, block))) {
        program_torn(medium, at, data, size);
        state->failed = 1;
        return FP_MEDIUM_IO;
    }
    memcpy(at, data, size);
    return cut ? FP_MEDIUM_IO : 0;
}

static int do_erase(void *context, uint32_t block)
{
    struct fp_emulated *medium = context;
    check_block(medium, block, "erase outside");
    struct block *state = &medium->blocks[block];
    if (state->bad)
        illegal("erase of a bad block", block, 0, medium->config.block_bytes);
    if (medium->off)
        return FP_MEDIUM_IO;
    bool cut = cut_now(medium);
    if (cut && medium->cut_how == FP_EMULATED_CUT_BEFORE)
        return FP_MEDIUM_IO;
    medium->counters.erases++;
    empty_register(medium);
    state->erasures++;
    bool torn = cut && medium->cut_how == FP_EMULATED_CUT_TORN;
    bool fails = !torn && (draw_ppm(medium, medium->config.erase_fail_ppm) ||
                           worn_out(medium, block));
    if (torn || fails) {
        erase_torn(medium, block);
        /* Half erased cells take no program, even if they look erased. */
        state->next_page = pages_per_block(medium);
        state->failed = fails;
        return FP_MEDIUM_IO;
    }
    memset(bytes_of(medium, block), 0xff, medium->config.block_bytes);
    state->next_page = 0;
    state->failed = 0;
    return cut ? FP_MEDIUM_IO : 0;
}

static bool do_is_bad(void *context, uint32_t block)
{
    struct fp_emulated *medium = context;
    check_block(medium, block, "bad mark outside");
    return medium->off || medium->blocks[block].bad;
}

static int do_mark_bad(void *context, uint32_t block)
{
    struct fp_emulated *medium = context;
    check_block(medium, block, "bad mark outside");
    if (medium->off)
        return FP_MEDIUM_IO;
    bool cut = cut_now(medium);
    /* The mark is one byte, so it is there or not. */
    if (!cut || medium->cut_how == FP_EMULATED_CUT_AFTER ||
        (medium->cut_how == FP_EMULATED_CUT_TORN && draw_below(medium, 2)))
        medium->blocks[block].bad = 1;
    empty_register(medium);
    return cut ? FP_MEDIUM_IO : 0;
}

/* Factory-bad blocks hold arbitrary bytes. */
static void make(struct fp_emulated *medium)
{
    const struct fp_emulated_config *config = &medium->config;
    memset(medium->bytes, 0xff, medium->total_bytes);
    memset(medium->blocks, 0, config->block_count * sizeof(struct block));
    *medium->header = (struct header){
        .magic = MAGIC,
        .version = VERSION,
        .program_bytes = config->program_bytes,
        .block_bytes = config->block_bytes,
        .block_count = config->block_count,
        .random = config->seed,
    };
    for (uint32_t left = config->factory_bad; left;) {
        uint32_t block = draw_below(medium, config->block_count);
        if (medium->blocks[block].bad)
            continue;
        medium->blocks[block].bad = 1;
        for (uint32_t i = 0; i < config->block_bytes; i++)
            bytes_of(medium, block)[i] = (uint8_t)draw(medium);
        left--;
    }
}

/* Reserves the space now, so that a full disk is an error here and not a signal later. */
static int extend(int file, size_t bytes)
{
    static const uint8_t zeros[65536];
    for (size_t at = 0; at < bytes;) {
        size_t here = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);
        ssize_t written = pwrite(file, zeros, here, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += (size_t)written;
    }
    return 0;
}

/* Maps the file. `fresh` is set if the file was new or empty. */
static uint8_t *map_file(const char *path, size_t bytes, bool *fresh)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return NULL;
    void *mapped = MAP_FAILED;
    struct stat status;
    if (!fstat(file, &status)) {
        *fresh = status.st_size == 0;
        if (!S_ISREG(status.st_mode) || (!*fresh && (uintmax_t)status.st_size != bytes))
            errno = EEXIST;
        else if (!*fresh || !extend(file, bytes))
            mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    int error = errno;
    close(file);
    errno = error;
    return mapped == MAP_FAILED ? NULL : mapped;
}

static bool header_fits(const struct header *header, const struct fp_emulated_config *config)
{
    return !memcmp(header->magic, MAGIC, sizeof(header->magic)) && header->version == VERSION &&
           header->program_bytes == config->program_bytes &&
           header->block_bytes == config->block_bytes &&
           header->block_count == config->block_count;
}

struct fp_emulated *fp_emulated_open(const struct fp_emulated_config *config)
{
    if (!config->program_bytes || !config->block_bytes || !config->block_count ||
        config->block_bytes % config->program_bytes || config->factory_bad > config->block_count ||
        config->block_bytes > (SIZE_MAX / 2 - sizeof(struct header)) / config->block_count -
                                  sizeof(struct block)) {
        errno = EINVAL;
        return NULL;
    }
    struct fp_emulated *medium = calloc(1, sizeof(*medium));
    if (!medium)
        return NULL;
    size_t bytes = (size_t)config->block_bytes * config->block_count;
    size_t state = (bytes + 7) / 8 * 8;
    bool fresh = true;
    medium->config = *config;
    medium->config.path = NULL;
    medium->in_file = config->path != NULL;
    medium->total_bytes =
        state + sizeof(struct header) + config->block_count * sizeof(struct block);
    medium->bytes = medium->in_file ? map_file(config->path, medium->total_bytes, &fresh)
                                    : malloc(medium->total_bytes);
    if (!medium->bytes) {
        int error = errno;
        free(medium);
        errno = error;
        return NULL;
    }
    medium->header = (struct header *)(void *)(medium->bytes + state);
    medium->blocks = (struct block *)(void *)(medium->header + 1);
    if (fresh)
        make(medium);
    else if (!header_fits(medium->header, config)) {
        fp_emulated_close(medium);
        errno = EEXIST;
        return NULL;
    }
    empty_register(medium);
    medium->medium = (struct fp_medium){
        .context = medium,
        .read = do_read,
        .program = do_program,
        .erase = is_nand(medium) ? do_erase : NULL,
        .is_bad = is_nand(medium) ? do_is_bad : NULL,
        .mark_bad = is_nand(medium) ? do_mark_bad : NULL,
        .program_bytes = config->program_bytes,
        .block_bytes = config->block_bytes,
        .block_count = config->block_count,
    };
    return medium;
}

void fp_emulated_close(struct fp_emulated *medium)
{
    if (!medium)
        return;
    if (medium->in_file)
        munmap(medium->bytes, medium->total_bytes);
    else
        free(medium->bytes);
    free(medium);
}

const struct fp_medium *fp_emulated_medium(struct fp_emulated *medium)
{
    return &medium->medium;
}

void fp_emulated_counters(const struct fp_emulated *medium, struct fp_emulated_counters *counters)
{
    *counters = medium->counters;
}

uint32_t fp_emulated_wear(const struct fp_emulated *medium, uint32_t block)
{
    check_block(medium, block, "wear outside");
    const struct block *state = &medium->blocks[block];
    if (is_nand(medium))
        return state->erasures;
    return (uint32_t)(state->rewritten_bytes / medium->config.block_bytes);
}

bool fp_emulated_is_bad(const struct fp_emulated *medium, uint32_t block)
{
    check_block(medium, block, "bad mark outside");
    return medium->blocks[block].bad;
}

void fp_emulated_cut_power(struct fp_emulated *medium, uint64_t after, enum fp_emulated_cut how)
{
    medium->cut_after = after;
    medium->cut_how = how;
}

bool fp_emulated_is_off(const struct fp_emulated *medium)
{
    return medium->off;
}

void fp_emulated_power_on(struct fp_emulated *medium)
{
    medium->off = false;
}

uint8_t *fp_emulated_bytes(struct fp_emulated *medium)
{
    return medium->bytes;
}
