/*
 * The bytes of the log on the medium, and nothing else: no function here reads or
 * programs it.
 *
 * Records are packed one after another into the payload of flash pages; one may go
 * on in the next pages of its block, none in another block. The newest record of a
 * slot is the one that counts: order is that of the blocks' sequence numbers, then
 * of pages, then within the page. A slot that was freed has a record, too, so that
 * an older one does not come back.
 *
 *     flash page   header of the block, 44 bytes (page 0 only)
 *                  names: slots of the records that begin in the page before, 4 bytes each
 *                  payload: the rest of a record from the page before, then new ones
 *                  ... 0xff ...
 *                  entries: records that begin here, 12 bytes each, the first one last
 *                  trailer, 20 bytes
 *
 *     header       0  magic           trailer   0  CRC of the directory
 *                  4  shape                     4  sequence of the block
 *                  8  epoch                     8  entries
 *                 12  sequence                 10  names, and SKIPPED_FLAG
 *                 16  erasures                 12  bytes carried, or pages skipped
 *                 20  next block               14  epoch, its low half
 *                 24  its erasures             16  CRC of all before the entries
 *                 28  pages of the block before
 *                 30  0xffff          entry     0  slot
 *                 32  the block before          4  fp_swap_record_crc()
 *                 36  its sequence              8  size, or a code
 *                 40  CRC of all this          10  bytes stored
 *
 * The names make a page that cannot be read at mount cost no more than the slots that
 * were in it; so no record begins in the last page of a block, or in the last that is
 * used. A header names the block that will be erased next and what its erase counter
 * will be then: so a power cut loses no counter, and a half-erased block is known as
 * one. It also names the block before, and how many of its pages are in use: so a page
 * whose programming failed is not taken for one that was lost. What this does not cover
 * is said in README.md, "What the log promises".
 */
#include "log_internal.h"

#define MAGIC 0x57535046u /* "FPSW" */
#define VERSION 2u

/* With the number of names: there are as many pages as `carried` says that hold nothing
 * between the last one programmed and this one. A power cut may have hit them. */
#define SKIPPED_FLAG 0x8000u

struct entry fp_log_parse_entry(const uint8_t *at)
{
    struct entry entry;

    entry.slot = fp_swap_get32(at);
    entry.crc = fp_swap_get32(at + 4);
    entry.size = fp_swap_get16(at + 8);
    entry.stored = fp_swap_get16(at + 10);
    return entry;
}

struct entry fp_log_get_entry(const struct fp_swap *store, const struct directory *directory,
                              uint32_t index)
{
    return fp_log_parse_entry(directory->page + program_bytes(store) - TRAILER_BYTES -
                              ENTRY_BYTES * (index + 1u));
}

uint32_t fp_log_record_offset(const struct fp_swap *store, const struct directory *directory,
                              uint32_t index)
{
    uint32_t offset = payload_begin(directory) + directory->carried;
    uint32_t i;

    for (i = 0; i < index; i++) {
        offset += fp_log_get_entry(store, directory, i).stored;
    }
    return offset;
}

struct directory fp_log_head_directory(const struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    struct directory directory;

    directory.page = log->head;
    directory.base = log->page == 0 ? HEADER_BYTES : 0;
    directory.count = log->count;
    directory.names = log->names;
    directory.carried = log->carried;
    directory.skipped = log->skipped;
    return directory;
}

struct directory fp_log_parse_trailer(const struct fp_swap *store, const uint8_t *image,
                                      const uint8_t *trailer, uint32_t page)
{
    struct directory directory;

    directory.page = image;
    directory.base = page % pages_per_block(store) == 0 ? HEADER_BYTES : 0;
    directory.count = fp_swap_get16(trailer + 8);
    directory.names = fp_swap_get16(trailer + 10);
    directory.carried = fp_swap_get16(trailer + 12);
    directory.skipped = 0;
    if (directory.names & SKIPPED_FLAG) {
        directory.names = (uint16_t)(directory.names & ~SKIPPED_FLAG);
        directory.skipped = directory.carried;
        directory.carried = 0;
    }
    return directory;
}

struct directory fp_log_page_directory(const struct fp_swap *store, const uint8_t *image,
                                       uint32_t page)
{
    return fp_log_parse_trailer(store, image, image + program_bytes(store) - TRAILER_BYTES, page);
}

uint32_t fp_log_pages_spanned(const struct fp_swap *store, const struct directory *directory,
                              uint32_t offset, uint32_t stored)
{
    uint32_t room = payload_end(store, directory) - offset;
    uint32_t pages = 1;
    uint32_t base = NAME_BYTES * directory->count;

    while (stored > room) {
        stored -= room;
        room = program_bytes(store) - TRAILER_BYTES - base;
        base = 0;
        pages++;
    }
    return pages;
}

/* The CRC over a page's directory: its place in the block, the list of the page
 * before, entries and trailer. */
static uint32_t directory_crc(const struct fp_swap *store, const struct directory *directory,
                              uint32_t page)
{
    uint32_t end = payload_end(store, directory);
    uint8_t place_in_block[4];
    uint32_t crc;

    fp_swap_put32(place_in_block, page % pages_per_block(store));
    crc = fp_swap_crc(store, 0, place_in_block, sizeof(place_in_block));
    crc = fp_swap_crc(store, crc, directory->page + directory->base,
                      (size_t)(NAME_BYTES * directory->names));
    crc =
        fp_swap_crc(store, crc, directory->page + end, (size_t)(ENTRY_BYTES * directory->count));
    return fp_swap_crc(store, crc, directory->page + program_bytes(store) - TRAILER_BYTES + 4,
                       (size_t)TRAILER_BYTES - 4u);
}

uint32_t fp_log_content_crc(const struct fp_swap *store, const struct directory *directory)
{
    return fp_swap_crc(store, 0, directory->page, payload_end(store, directory));
}

bool fp_log_is_directory(const struct fp_swap *store, const struct directory *directory,
                         uint32_t page)
{
    uint32_t entries = entries_per_page(store);
    uint32_t end;
    uint32_t at;
    uint32_t index;

    if (directory->count > entries || directory->names > entries ||
        directory->carried > program_bytes(store)) {
        return false;
    }
    end = payload_end(store, directory);
    at = payload_begin(directory) + directory->carried;
    if (at > end || directory_crc(store, directory, page) !=
                        fp_swap_get32(directory->page + program_bytes(store) - TRAILER_BYTES)) {
        return false;
    }
    for (index = 0; index < directory->count; index++) {
        struct entry entry = fp_log_get_entry(store, directory, index);

        if (entry.size != FP_SWAP_SIZE_LOST &&
            (entry.stored != payload_bytes(entry.size) ||
             (entry.size != FP_SWAP_SIZE_SAME && entry.size > store->config->page_bytes))) {
            return false;
        }
        at += entry.stored;
        /* Only the last one may go on in the next page. */
        if (entry.stored > store->config->page_bytes ||
            (at > end && index + 1u < directory->count)) {
            return false;
        }
    }
    return true;
}

/* A number for everything that must be equal for a medium to be understood. */
static uint32_t shape(const struct fp_swap *store)
{
    const struct fp_medium *medium = store->config->medium;
    uint8_t bytes[24];

    fp_swap_put32(bytes, VERSION);
    fp_swap_put32(bytes + 4, store->config->page_bytes);
    fp_swap_put32(bytes + 8, store->config->slot_count);
    fp_swap_put32(bytes + 12, medium->program_bytes);
    fp_swap_put32(bytes + 16, medium->block_bytes);
    fp_swap_put32(bytes + 20, medium->block_count);
    return fp_swap_crc(store, 0, bytes, sizeof(bytes));
}

void fp_log_encode_entry(uint8_t *at, uint32_t slot, const struct entry *entry)
{
    fp_swap_put32(at, slot);
    fp_swap_put32(at + 4, entry->crc);
    fp_swap_put16(at + 8, entry->size);
    fp_swap_put16(at + 10, entry->stored);
}

void fp_log_encode_trailer(struct fp_swap *store)
{
    const struct fp_swap_log_state *log = &store->of.log;
    uint8_t *trailer = log->head + program_bytes(store) - TRAILER_BYTES;
    struct directory directory = fp_log_head_directory(store);

    fp_swap_put32(trailer + 4, log->sequence);
    fp_swap_put16(trailer + 8, log->count);
    fp_swap_put16(trailer + 10, (uint16_t)(log->names | (log->skipped ? SKIPPED_FLAG : 0u)));
    fp_swap_put16(trailer + 12, log->skipped ? log->skipped : log->carried);
    fp_swap_put16(trailer + 14, (uint16_t)log->epoch);
    fp_swap_put32(trailer + 16, fp_log_content_crc(store, &directory));
    fp_swap_put32(trailer, directory_crc(store, &directory, log->page));
}

void fp_log_encode_header(const struct fp_swap *store, uint8_t *at,
                          const struct block_header *header)
{
    fp_swap_put32(at, MAGIC);
    fp_swap_put32(at + 4, shape(store));
    fp_swap_put32(at + 8, header->epoch);
    fp_swap_put32(at + 12, header->sequence);
    fp_swap_put32(at + 16, header->erases);
    fp_swap_put32(at + 20, header->next);
    fp_swap_put32(at + 24, header->next_erases);
    fp_swap_put16(at + 28, header->last_pages);
    fp_swap_put16(at + 30, 0xffffu);
    fp_swap_put32(at + 32, header->last_block);
    fp_swap_put32(at + 36, header->last_sequence);
    fp_swap_put32(at + 40, fp_swap_crc(store, 0, at, HEADER_BYTES - 4u));
}

bool fp_log_parse_header(const struct fp_swap *store, const uint8_t *at,
                         struct block_header *header)
{
    if (fp_swap_get32(at) != MAGIC || fp_swap_get32(at + 4) != shape(store) ||
        fp_swap_get32(at + 40) != fp_swap_crc(store, 0, at, HEADER_BYTES - 4u)) {
        return false;
    }
    header->epoch = fp_swap_get32(at + 8);
    header->sequence = fp_swap_get32(at + 12);
    header->erases = fp_swap_get32(at + 16);
    header->next = fp_swap_get32(at + 20);
    header->next_erases = fp_swap_get32(at + 24);
    header->last_pages = fp_swap_get16(at + 28);
    header->last_block = fp_swap_get32(at + 32);
    header->last_sequence = fp_swap_get32(at + 36);
    return header->sequence != 0 && header->sequence != NOWHERE;
}
