/*
 * The bytes of the log on the medium, and nothing else: no function here reads or programs it.
 * Numbers are little-endian.
 *
 *     meta page   0  magic                     record      0  slot
 *                 4  CRC                                   4  fp_swap_record_crc()
 *                 8  shape                                 8  size
 *                12  generation of the block              10  check of these
 *                16  that of the block before             12  the page, compressed; to a multiple
 *                20  key of the chunk's first item            of 4
 *                24  items of the chunk
 *                26  entries                   data block  0  slot of the record that goes on here
 *                28  the block before                      4  where it begins
 *                30  how many of its pairs count           8  bytes of it
 *                32  the pair that confirms it            12  those, then records
 *                34  three blocks, one of which is next
 *                40  entries: key 4, value 4, extra 2
 *                    chunk: value 4, extra 2
 *
 * The CRC goes over all of the page but itself, from the place of the page on the medium: a copy
 * elsewhere is no meta page. Of a slot, value is `where` (or the word that it is filled with) and
 * extra its size. Of a block, value is its erasures and, in the upper bits, whether it is bad or
 * retired; extra is the block in which its last record goes on.
 */
#include "log_internal.h"

#include <string.h>

/* no slot has this number, so a data page is never taken for a meta page */
#define MAGIC 0xf1a54b06u
#define OLD_MAGIC 0x57535046u /* of VERSION 1 and 2 */
#define VERSION 3u

#define ITEM_BAD 0x80000000u
#define ITEM_RETIRED 0x40000000u
#define ITEM_ERASES 0x3fffffffu

static uint32_t shape_of(const struct fp_swap *store)
{
    const struct fp_swap_config *config = store->config;
    uint8_t bytes[24];

    fp_swap_put32(bytes, VERSION);
    fp_swap_put32(bytes + 4, config->medium->program_bytes);
    fp_swap_put32(bytes + 8, config->medium->block_bytes);
    fp_swap_put32(bytes + 12, config->medium->block_count);
    fp_swap_put32(bytes + 16, config->page_bytes);
    fp_swap_put32(bytes + 20, config->slot_count);
    return fp_swap_crc(store, 0, bytes, sizeof(bytes));
}

struct entry fp_log_get_item(const struct fp_swap *store, uint32_t key)
{
    struct entry entry;

    entry.key = key;
    if (key < store->config->slot_count) {
        entry.value = store->where[key];
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
        store->where[entry->key] = entry->value;
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

static uint32_t page_crc(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                         uint32_t index)
{
    uint8_t place[8];

    fp_swap_put32(place, block);
    fp_swap_put32(place + 4, index);
    return fp_swap_crc(store, fp_swap_crc(store, 0, place, sizeof(place)), page + 8,
                       program_bytes(store) - 8u);
}

void fp_log_seal_page(const struct fp_swap *store, uint8_t *page, const struct meta_header *header,
                      uint32_t block, uint32_t index)
{
    uint32_t i;

    fp_swap_put32(page, MAGIC);
    fp_swap_put32(page + 8, shape_of(store));
    fp_swap_put32(page + 12, header->generation);
    fp_swap_put32(page + 16, header->link_generation);
    fp_swap_put32(page + 20, header->first);
    fp_swap_put16(page + 24, header->items);
    fp_swap_put16(page + 26, header->entries);
    fp_swap_put16(page + 28, header->link_block);
    fp_swap_put16(page + 30, header->link_pairs);
    fp_swap_put16(page + 32, header->confirmed);
    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        fp_swap_put16(page + 34 + 2u * i, header->reserved[i]);
    }
    fp_swap_put32(page + 4, page_crc(store, page, block, index));
}

enum page_kind fp_log_parse_page(const struct fp_swap *store, const uint8_t *page, uint32_t block,
                                 uint32_t index, struct meta_header *header)
{
    uint32_t i = 0;

    if (fp_swap_get32(page) != MAGIC) {
        while (i < program_bytes(store) && page[i] == 0xff) {
            i++;
        }
        return i == program_bytes(store)                          ? PAGE_BLANK
               : index == 0 && fp_swap_get32(page) == OLD_MAGIC ? PAGE_OTHER
                                                                  : PAGE_NOT_META;
    }
    if (fp_swap_get32(page + 4) != page_crc(store, page, block, index)) {
        return PAGE_BROKEN;
    }
    if (fp_swap_get32(page + 8) != shape_of(store)) {
        return PAGE_OTHER;
    }
    header->generation = fp_swap_get32(page + 12);
    header->link_generation = fp_swap_get32(page + 16);
    header->first = fp_swap_get32(page + 20);
    header->items = fp_swap_get16(page + 24);
    header->entries = fp_swap_get16(page + 26);
    header->link_block = fp_swap_get16(page + 28);
    header->link_pairs = fp_swap_get16(page + 30);
    header->confirmed = fp_swap_get16(page + 32);
    for (i = 0; i < FP_SWAP_LOG_RESERVED; i++) {
        header->reserved[i] = fp_swap_get16(page + 34 + 2u * i);
        if (header->reserved[i] >= block_count(store)) {
            header->reserved[i] = NO_BLOCK;
        }
    }
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
