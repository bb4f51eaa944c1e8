/*
 * The encoding of the log's pages and records. No function here reads or programs the medium.
 * Numbers are little-endian.
 *
 *     meta page   0  magic                     record      0  slot
 *                 4  CRC of bytes 8 to 31                  4  fp_swap_record_crc()
 *                 8  version                               8  size
 *                10  bytes of a flash page                10  check of bytes 0 to 9
 *                12  bytes of a block                     12  the compressed page, padded to a
 *                16  blocks                                   multiple of 4
 *                18  bytes of a page of memory
 *                20  slots                     data block  0  slot of the record continued here
 *                24  name of the compressor                4  where that record begins
 *                32  CRC of the page                       8  bytes of it in this block
 *                36  generation of the block              12  those bytes, then records
 *                40  generation of the linked block
 *                44  key of the chunk's first item
 *                48  items of the chunk
 *                50  entries
 *                52  the linked block: the meta block before
 *                54  pairs of the linked block that count
 *                56  number of the pair that confirms this block
 *                58  three reserved blocks; one becomes the next meta block
 *                64  entries: key 4, value 4, extra 2
 *                    chunk: value 4, extra 2
 *
 * The first 32 bytes are the prefix: any config can read it, so that a store of another shape or of
 * a later version is recognized. Its CRC is always fp_swap_crc32(). The CRC of the page covers the
 * numbers of the block and the page, and the whole page except the CRC itself: a copy in another
 * place is not a meta page. An item of a slot has `location` as its value, or the word that fills a
 * same-filled page, and the slot's size as its extra. An item of a block has the number of erasures
 * as its value, with flags for bad and retired in the upper bits; its extra is the block in which
 * the last record continues.
 */
#include "log_internal.h"

#include <string.h>

/* No slot has this number, so a data page is never taken for a meta page. */
#define MAGIC 0xf1a54b07u
#define MAGIC_3 0xf1a54b06u /* of VERSION 3 */
#define MAGIC_2 0x57535046u /* of VERSION 1 and 2 */

#define ITEM_BAD 0x80000000u
#define ITEM_RETIRED 0x40000000u
#define ITEM_ERASES 0x3fffffffu

struct entry fp_log_get_item(const struct fp_swap *store, uint32_t key)
{
    struct entry entry;

    entry.key = key;
    if (key < store->config->slot_count) {
        entry.value = store->location[key];
        entry.extra = store->size[key];
    } else {
        const struct fp_swap_block *b = &store->of.log.blocks[key - store->config->slot_count];

        entry.value = b->erases & ITEM_ERASES;
        entry.value |= state_of(b) == BLOCK_BAD ? ITEM_BAD : 0;
        entry.value |= b->flags & FLAG_RETIRED ? ITEM_RETIRED : 0;
        entry.extra = b->next;
    }
    return entry;
}

void fp_log_set_item(struct fp_swap *store, const struct entry *entry)
{
    uint32_t slots = store->config->slot_count;

    if (entry->key < slots) {
        store->location[entry->key] = entry->value;
        store->size[entry->key] = entry->extra;
    } else if (entry->key < item_count(store)) {
        struct fp_swap_block *b = &store->of.log.blocks[entry->key - slots];

        b->erases = entry->value & ITEM_ERASES;
        b->next = entry->extra;
        b->flags &= (uint8_t)~(FLAG_UNKNOWN | FLAG_RETIRED);
        b->flags |= entry->value & ITEM_RETIRED ? FLAG_RETIRED : 0;
        if (entry->value & ITEM_BAD) {
            b->state_age = BLOCK_BAD;
        }
    }
}

void fp_log_encode_item(uint8_t *at, const struct entry *entry)
{
    fp_swap_put32(at, entry->value);
    fp_swap_put16(at + 4, entry->extra);
}

struct entry fp_log_parse_item(const uint8_t *at, uint32_t key)
{
    struct entry entry;

    entry.key = key;
    entry.value = fp_swap_get32(at);
    entry.extra = fp_swap_get16(at + 4);
    return entry;
}

void fp_log_encode_entry(uint8_t *at, const struct entry *entry)
{
    fp_swap_put32(at, entry->key);
    fp_log_encode_item(at + 4, entry);
}

struct entry fp_log_parse_entry(const uint8_t *at)
{
    return fp_log_parse_item(at + 4, fp_swap_get32(at));
}

static void encode_prefix(uint8_t *at, const struct fp_swap_shape *shape)
{
    fp_swap_put32(at, MAGIC);
    fp_swap_put16(at + 8, (uint16_t)shape->version);
    fp_swap_put16(at + 10, (uint16_t)shape->program_bytes);
    fp_swap_put32(at + 12, shape->block_bytes);
    fp_swap_put16(at + 16, (uint16_t)shape->block_count);
    fp_swap_put16(at + 18, (uint16_t)shape->page_bytes);
    fp_swap_put32(at + 20, shape->slot_count);
    memcpy(at + 24, shape->compressor, FP_COMPRESSOR_NAME);
    fp_swap_put32(at + 4, fp_swap_crc32(0, at + 8, META_PREFIX - 8u));
}

bool fp_log_parse_prefix(const uint8_t *at, struct fp_swap_shape *shape)
{
    uint32_t magic = fp_swap_get32(at);

    memset(shape, 0, sizeof(*shape));
    if (magic == MAGIC_3 || magic == MAGIC_2) {
        shape->version = magic == MAGIC_3 ? 3u : 2u;
        return true;
    }
    if (magic != MAGIC || fp_swap_get32(at + 4) != fp_swap_crc32(0, at + 8, META_PREFIX - 8u)) {
        return false;
    }
    shape->version = fp_swap_get16(at + 8);
    shape->program_bytes = fp_swap_get16(at + 10);
    shape->block_bytes = fp_swap_get32(at + 12);
    shape->block_count = fp_swap_get16(at + 16);
    shape->page_bytes = fp_swap_get16(at + 18);
    shape->slot_count = fp_swap_get32(at + 20);
    memcpy(shape->compressor, at + 24, FP_COMPRESSOR_NAME);
    return true;
}

bool fp_log_is_own(const struct fp_swap *store, const struct fp_swap_shape *shape)
{
    struct fp_swap_shape own;

    fp_swap_shape(store->config, &own);
    return memcmp(&own, shape, sizeof(own)) == 0;
}

uint32_t fp_log_page_crc(const struct fp_swap *store, const uint8_t *head, uint32_t block,
                         uint32_t index)
{
    uint8_t position[8];
    uint32_t crc;

    fp_swap_put32(position, block);
    fp_swap_put32(position + 4, index);
    crc = fp_swap_crc(store, 0, position, sizeof(position));
    crc = fp_swap_crc(store, crc, head, META_PREFIX);
    return fp_swap_crc(store, crc, head + META_PREFIX + 4u, META_HEADER - META_PREFIX - 4u);
}

static uint32_t page_crc(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                         uint32_t index)
{
    return fp_swap_crc(store, fp_log_page_crc(store, page, block, index), page + META_HEADER,
                       meta_room(store));
}

void fp_log_seal_page(const struct fp_swap *store, uint8_t *page, const struct meta_header *header,
                      uint32_t block, uint32_t index)
{
    struct fp_swap_shape shape;
    uint32_t i;

    fp_swap_shape(store->config, &shape);
    encode_prefix(page, &shape);
    fp_swap_put32(page + 36, header->generation);
    fp_swap_put32(page + 40, header->link_generation);
    fp_swap_put32(page + 44, header->first);
    fp_swap_put16(page + 48, header->items);
    fp_swap_put16(page + 50, header->entries);
    fp_swap_put16(page + 52, header->link_block);
    fp_swap_put16(page + 54, header->link_pairs);
    fp_swap_put16(page + 56, header->confirmed);
    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        fp_swap_put16(page + 58 + 2u * i, header->reserved[i]);
    }
    fp_swap_put32(page + META_PREFIX, page_crc(store, page, block, index));
}

void fp_log_parse_header(const struct fp_swap *store, const uint8_t *page,
                         struct meta_header *header)
{
    uint32_t i;

    header->generation = fp_swap_get32(page + 36);
    header->link_generation = fp_swap_get32(page + 40);
    header->first = fp_swap_get32(page + 44);
    header->items = fp_swap_get16(page + 48);
    header->entries = fp_swap_get16(page + 50);
    header->link_block = fp_swap_get16(page + 52);
    header->link_pairs = fp_swap_get16(page + 54);
    header->confirmed = fp_swap_get16(page + 56);
    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        header->reserved[i] = fp_swap_get16(page + 58 + 2u * i);
        if (header->reserved[i] >= block_count(store)) {
            header->reserved[i] = NO_BLOCK;
        }
    }
}

enum page_kind fp_log_parse_page(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                                 uint32_t index, struct meta_header *header)
{
    struct fp_swap_shape shape;
    uint32_t i = 0;

    if (!fp_log_parse_prefix(page, &shape) || (shape.version < FP_SWAP_VERSION && index > 0)) {
        while (i < program_bytes(store) && page[i] == 0xff) {
            i++;
        }
        return i == program_bytes(store)          ? PAGE_BLANK
               : fp_swap_get32(page) == MAGIC ? PAGE_BROKEN
                                                  : PAGE_NOT_META;
    }
    if (!fp_log_is_own(store, &shape)) {
        return PAGE_OTHER;
    }
    if (fp_swap_get32(page + META_PREFIX) != page_crc(store, page, block, index)) {
        return PAGE_BROKEN;
    }
    fp_log_parse_header(store, page, header);
    /* A CRC that fits does not prove sane numbers. */
    return (uint64_t)header->entries * ENTRY_BYTES + (uint64_t)header->items * ITEM_BYTES <=
                       meta_room(store) &&
                   header->first <= item_count(store) &&
                   header->items <= item_count(store) - header->first &&
                   (header->link_block == NO_BLOCK || header->link_block < block_count(store)) &&
                   header->link_pairs <= pairs_per_block(store) && header->confirmed > 0 &&
                   header->confirmed < pairs_per_block(store)
               ? PAGE_META
               : PAGE_BROKEN;
}

uint8_t *fp_log_page_entries(uint8_t *page)
{
    return page + META_HEADER;
}

uint8_t *fp_log_page_items(uint8_t *page, const struct meta_header *header)
{
    return page + META_HEADER + ENTRY_BYTES * header->entries;
}

static uint16_t record_check(const uint8_t *at)
{
    uint32_t sum = 0x2a71u;
    uint32_t i;

    for (i = 0; i < 10u; i++) {
        sum = (sum << 5 ^ sum >> 11 ^ at[i]) & 0xffffu;
    }
    return (uint16_t)sum;
}

void fp_log_encode_record(uint8_t *at, const struct record_header *header)
{
    fp_swap_put32(at, header->slot);
    fp_swap_put32(at + 4, header->crc);
    fp_swap_put16(at + 8, header->size);
    fp_swap_put16(at + 10, record_check(at));
}

bool fp_log_parse_record(const uint8_t *at, struct record_header *header)
{
    header->slot = fp_swap_get32(at);
    header->crc = fp_swap_get32(at + 4);
    header->size = fp_swap_get16(at + 8);
    return fp_swap_get16(at + 10) == record_check(at);
}
