/* The part of the store that all layouts share. */
#include "swap_internal.h"

#include <string.h>

uint32_t fp_swap_crc32(uint32_t crc, const void *data, size_t size)
{
    /* CRC-32 with the reflected polynomial 0xedb88320, a nibble at a time: the table has 64 bytes.
     */
    static const uint32_t table[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    const uint8_t *bytes = data;

    crc = ~crc;
    while (size-- > 0) {
        crc ^= *bytes++;
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return ~crc;
}

uint32_t fp_swap_crc(const struct fp_swap *store, uint32_t crc, const void *data, size_t size)
{
    return store->config->crc ? store->config->crc(crc, data, size)
                              : fp_swap_crc32(crc, data, size);
}

uint32_t fp_swap_record_crc(const struct fp_swap *store, uint32_t slot, uint16_t size,
                            const uint8_t *page)
{
    /* The slot is part of the CRC, so another slot's page is not mistaken for this one's. */
    uint8_t head[6];
    uint32_t crc;

    fp_swap_put32(head, slot);
    fp_swap_put16(head + 4, size);
    crc = fp_swap_crc(store, 0, head, sizeof(head));
    return fp_swap_crc(store, crc, page,
                       size == FP_SWAP_SIZE_SAME ? 4u : store->config->page_bytes);
}

/* Adds a slot's page to the statistics, or subtracts it. */
static void count(struct fp_swap *store, uint16_t size, bool add)
{
    struct fp_swap_stat *stat = &store->stat;
    uint32_t page_bytes = store->config->page_bytes;
    uint32_t one = add ? 1u : 0xffffffffu;

    if (size == FP_SWAP_SIZE_NONE) {
        return;
    }
    stat->pages += one;
    if (size == FP_SWAP_SIZE_LOST) {
        stat->lost_pages += one;
        return;
    }
    stat->orig_data_size += add ? page_bytes : 0u - (uint64_t)page_bytes;
    if (size == FP_SWAP_SIZE_SAME) {
        stat->same_pages += one;
        return;
    }
    stat->compr_data_size += add ? size : 0u - (uint64_t)size;
    if (size == page_bytes) {
        stat->huge_pages += one;
    }
}

void fp_swap_settle(struct fp_swap *store, uint32_t slot, uint32_t location, uint16_t size)
{
    if (store->size[slot] != FP_SWAP_SIZE_NONE) {
        store->refused = false;
    }
    count(store, store->size[slot], false);
    count(store, size, true);
    store->location[slot] = location;
    store->size[slot] = size;
}

/* The alignment of words in a config's memory. An AVR needs none. */
struct word_at {
    char first;
    uint32_t word;
};
#define WORD_ALIGNMENT offsetof(struct word_at, word)

static bool is_config(const struct fp_swap_config *config)
{
    const struct fp_medium *medium = config ? config->medium : NULL;

    return medium && config->layout && config->memory && (uintptr_t)config->memory % WORD_ALIGNMENT == 0 &&
           medium->read && medium->program && medium->program_bytes > 0 &&
           medium->block_count > 0 && medium->block_bytes > 0 &&
           medium->block_bytes % medium->program_bytes == 0 &&
           (!config->compressor ||
            (config->compressor->compress && config->compressor->decompress)) &&
           config->page_bytes > 0 && config->page_bytes % 4u == 0 &&
           config->page_bytes <= 32768u && config->slot_count > 0 &&
           config->slot_count < FP_SWAP_NOWHERE;
}

void fp_swap_shape(const struct fp_swap_config *config, struct fp_swap_shape *shape)
{
    const char *name = config->compressor ? config->compressor->name : NULL;

    memset(shape, 0, sizeof(*shape));
    shape->version = FP_SWAP_VERSION;
    shape->program_bytes = config->medium->program_bytes;
    shape->block_bytes = config->medium->block_bytes;
    shape->block_count = config->medium->block_count;
    shape->page_bytes = config->page_bytes;
    shape->slot_count = config->slot_count;
    if (name) {
        size_t size = strlen(name);

        memcpy(shape->compressor, name, size < FP_COMPRESSOR_NAME ? size : FP_COMPRESSOR_NAME);
    }
}

const struct fp_swap_shape *fp_swap_other(const struct fp_swap *store)
{
    return store && store->other.version > 0 ? &store->other : NULL;
}

static int start(struct fp_swap *store, const struct fp_swap_config *config, bool keep)
{
    uint32_t *memory;
    uint64_t layout_words;
    uint64_t slot_words;
    uint32_t slot;

    if (!store) {
        return FP_SWAP_INVALID;
    }
    memset(store, 0, sizeof(*store));
    if (!is_config(config)) {
        return FP_SWAP_INVALID;
    }
    layout_words = config->layout->words(config);
    slot_words = ((uint64_t)config->slot_count * FP_SWAP_SLOT_BYTES + 3u) / 4u;
    if (layout_words == 0 ||
        slot_words + config->page_bytes / 4u + layout_words > config->memory_bytes / 4u) {
        return FP_SWAP_INVALID;
    }
    memory = config->memory;
    store->config = config;
    store->location = memory;
    store->size = (uint16_t *)(memory + config->slot_count);
    store->stage = (uint8_t *)(memory + (size_t)slot_words);
    for (slot = 0; slot < config->slot_count; slot++) {
        store->location[slot] = FP_SWAP_NOWHERE;
        store->size[slot] = FP_SWAP_SIZE_NONE;
    }
    return config->layout->start(store, memory + (size_t)slot_words + config->page_bytes / 4u,
                                 keep);
}

/* Removes the config of a store that failed to start. Returns the error. */
static int started(struct fp_swap *store, int error)
{
    if (error && store) {
        store->config = NULL;
    }
    return error;
}

int fp_swap_format(struct fp_swap *store, const struct fp_swap_config *config)
{
    return started(store, start(store, config, false));
}

int fp_swap_mount(struct fp_swap *store, const struct fp_swap_config *config)
{
    return started(store, start(store, config, true));
}

static bool is_slot(const struct fp_swap *store, uint32_t slot)
{
    return store && store->config && slot < store->config->slot_count;
}

static FP_APART void note_space(struct fp_swap *store)
{
    uint64_t used;
    uint64_t limit;

    store->config->layout->space(store, &used, &limit);
    if (used > store->stat.mem_used_max) {
        store->stat.mem_used_max = used;
    }
}

/* Compresses a page into a codec's stage. Returns the compressed size, or 0 if the page is to be
 * stored uncompressed. */
static uint16_t compress(const struct fp_swap_codec *codec, const uint8_t *page,
                         uint32_t page_bytes)
{
    const struct fp_compressor *compressor = codec->compressor;
    uint8_t *stage = codec->stage;
    uint8_t *verify = codec->verify;
    uint32_t size;

    if (!compressor) {
        return 0;
    }
    size = compressor->compress(compressor->context, page, page_bytes, stage, page_bytes - 1u);
    if (size >= page_bytes ||
        (verify && size > 0 &&
         (compressor->decompress(compressor->context, stage, size, verify, page_bytes) != 0 ||
          memcmp(verify, page, page_bytes) != 0))) {
        return 0;
    }
    return (uint16_t)size;
}

int fp_swap_pack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                 const void *page, struct fp_swap_packed *packed)
{
    const uint8_t *data = page;
    uint32_t page_bytes;

    if (!is_slot(store, slot) || !page || !packed || !codec ||
        (codec->compressor && !codec->stage)) {
        return FP_SWAP_INVALID;
    }
    page_bytes = store->config->page_bytes;
    packed->data = page;
    packed->word = fp_swap_get32(data);
    if (memcmp(data, data + 4, page_bytes - 4u) == 0) {
        packed->size = FP_SWAP_SIZE_SAME;
    } else {
        packed->size = compress(codec, data, page_bytes);
        if (packed->size > 0) {
            packed->data = codec->stage;
        } else {
            packed->size = (uint16_t)page_bytes;
        }
    }
    packed->crc = fp_swap_record_crc(store, slot, packed->size, page);
    return FP_SWAP_OK;
}

/* Returns true if a packed page is valid. */
static bool is_packed(const struct fp_swap *store, const struct fp_swap_packed *packed)
{
    return packed && packed->data &&
           (packed->size == FP_SWAP_SIZE_SAME ||
            (packed->size > 0 && packed->size <= store->config->page_bytes));
}

int fp_swap_put(struct fp_swap *store, uint32_t slot, const struct fp_swap_packed *packed)
{
    struct fp_swap_record record;
    int error;

    if (!is_slot(store, slot) || !is_packed(store, packed)) {
        return FP_SWAP_INVALID;
    }
    record.size = packed->size;
    record.crc = packed->crc;
    record.word = packed->word;
    error = store->config->layout->put(store, slot, &record, packed->data);
    if (error == FP_SWAP_FULL) {
        store->refused = true;
    }
    note_space(store);
    return error;
}

int fp_swap_fetch(struct fp_swap *store, uint32_t slot, void *data,
                  struct fp_swap_packed *packed)
{
    struct fp_swap_record record;
    int error;

    if (!is_slot(store, slot) || !data || !packed) {
        return FP_SWAP_INVALID;
    }
    if (store->size[slot] == FP_SWAP_SIZE_NONE) {
        return FP_SWAP_EMPTY;
    }
    if (store->size[slot] == FP_SWAP_SIZE_LOST) {
        return FP_SWAP_CORRUPT;
    }
    error = store->config->layout->find(store, slot, &record);
    if (!error && record.size != FP_SWAP_SIZE_SAME) {
        error = store->config->layout->fetch(store, slot, &record, data);
    }
    if (error) {
        return error;
    }
    packed->data = data;
    packed->word = record.word;
    packed->crc = record.crc;
    packed->size = record.size;
    return FP_SWAP_OK;
}

int fp_swap_unpack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                   const struct fp_swap_packed *packed, void *page)
{
    const struct fp_compressor *compressor;
    uint8_t *bytes = page;
    uint32_t page_bytes;
    uint32_t at;

    if (!is_slot(store, slot) || !codec || !is_packed(store, packed) || !page) {
        return FP_SWAP_INVALID;
    }
    page_bytes = store->config->page_bytes;
    if (packed->size == FP_SWAP_SIZE_SAME) {
        fp_swap_put32(bytes, packed->word);
        for (at = 4; at < page_bytes; at += 4u) {
            memcpy(bytes + at, bytes, 4);
        }
        return FP_SWAP_OK;
    }
    compressor = codec->compressor;
    if (packed->size == page_bytes) {
        if (packed->data != page) {
            memcpy(page, packed->data, page_bytes);
        }
    } else if (!compressor || compressor->decompress(compressor->context, packed->data,
                                                     packed->size, bytes, page_bytes) != 0) {
        return FP_SWAP_CORRUPT;
    }
    return fp_swap_record_crc(store, slot, packed->size, bytes) == packed->crc ? FP_SWAP_OK
                                                                               : FP_SWAP_CORRUPT;
}

/* Returns the codec of the config. */
static struct fp_swap_codec own_codec(const struct fp_swap *store)
{
    struct fp_swap_codec codec = {store->config->compressor, store->stage, store->config->verify};

    return codec;
}

int fp_swap_write(struct fp_swap *store, uint32_t slot, const void *page)
{
    struct fp_swap_codec codec;
    struct fp_swap_packed packed;
    int error;

    if (!is_slot(store, slot)) {
        return FP_SWAP_INVALID;
    }
    if (fp_swap_has_failed(store)) {
        return FP_SWAP_IO;
    }
    codec = own_codec(store);
    error = fp_swap_pack(store, &codec, slot, page, &packed);
    return error ? error : fp_swap_put(store, slot, &packed);
}

int fp_swap_read(struct fp_swap *store, uint32_t slot, void *page)
{
    struct fp_swap_codec codec;
    struct fp_swap_packed packed;
    int error;

    if (!is_slot(store, slot) || !page) {
        return FP_SWAP_INVALID;
    }
    codec = own_codec(store);
    error = fp_swap_fetch(store, slot,
                          store->size[slot] == store->config->page_bytes ? page : codec.stage,
                          &packed);
    return error ? error : fp_swap_unpack(store, &codec, slot, &packed, page);
}

bool fp_swap_is_full(const struct fp_swap *store, uint32_t slot)
{
    return is_slot(store, slot) && store->refused && store->size[slot] == FP_SWAP_SIZE_NONE;
}

bool fp_swap_has_failed(const struct fp_swap *store)
{
    return store && store->config && store->config->layout->has_failed &&
           store->config->layout->has_failed(store);
}

int fp_swap_free(struct fp_swap *store, uint32_t slot)
{
    if (!is_slot(store, slot)) {
        return FP_SWAP_INVALID;
    }
    return store->size[slot] == FP_SWAP_SIZE_NONE ? FP_SWAP_OK
                                                  : store->config->layout->drop(store, slot);
}

bool fp_swap_holds(const struct fp_swap *store, uint32_t slot)
{
    return is_slot(store, slot) && store->size[slot] != FP_SWAP_SIZE_NONE;
}

int fp_swap_sync(struct fp_swap *store)
{
    return store && store->config ? store->config->layout->sync(store) : FP_SWAP_INVALID;
}

int fp_swap_idle(struct fp_swap *store)
{
    if (!store || !store->config) {
        return FP_SWAP_INVALID;
    }
    store->refused = false; /* collection may make space */
    return store->config->layout->idle ? store->config->layout->idle(store) : 0;
}

static uint16_t permille(uint64_t part, uint64_t whole)
{
    uint64_t ratio = whole ? FP_DIV64(part * 1000u + whole / 2u, whole) : 0;

    return (uint16_t)(ratio < 0xffffu ? ratio : 0xffffu);
}

void fp_swap_stat(const struct fp_swap *store, struct fp_swap_stat *stat)
{
    if (!stat) {
        return;
    }
    if (!store || !store->config) {
        memset(stat, 0, sizeof(*stat));
        return;
    }
    *stat = store->stat;
    store->config->layout->space(store, &stat->mem_used_total, &stat->mem_limit);
    stat->compr_permille = permille(stat->compr_data_size, stat->orig_data_size);
    stat->used_permille = permille(stat->mem_used_total, stat->orig_data_size);
}

uint32_t fp_swap_erase_count(const struct fp_swap *store, uint32_t block)
{
    return store && store->config && block < store->config->medium->block_count
               ? store->config->layout->erase_count(store, block)
               : 0;
}

const char *fp_swap_check(struct fp_swap *store)
{
    struct fp_swap_stat kept;
    struct fp_swap_stat *stat;
    uint32_t slot;
    bool same;

    if (!store || !store->config) {
        return "the store is not mounted";
    }
    stat = &store->stat;
    kept = *stat;
    stat->orig_data_size = 0;
    stat->compr_data_size = 0;
    stat->pages = 0;
    stat->same_pages = 0;
    stat->huge_pages = 0;
    stat->lost_pages = 0;
    for (slot = 0; slot < store->config->slot_count; slot++) {
        count(store, store->size[slot], true);
    }
    same = stat->orig_data_size == kept.orig_data_size &&
           stat->compr_data_size == kept.compr_data_size && stat->pages == kept.pages &&
           stat->same_pages == kept.same_pages && stat->huge_pages == kept.huge_pages &&
           stat->lost_pages == kept.lost_pages;
    *stat = kept;
    return same ? store->config->layout->check(store)
                : "the statistics are not those of the slots";
}
