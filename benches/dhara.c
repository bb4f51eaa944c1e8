#include "dhara.h"

#include <stdlib.h>
#include <string.h>

#define NO_PAGE UINT32_MAX
#define NO_SECTOR UINT32_MAX
// A checkpoint holds a header (magic, epoch, tail, bad blocks of this and the last pass), a cookie
// (the number of mapped sectors), and an entry for each page of the group: its sector, and an
// alt-pointer for each bit of a sector's number.
#define COOKIE_OFFSET 16u
#define ENTRIES_OFFSET 20u
#define SECTOR_BITS 32u
#define ENTRY_BYTES (4u + 4u * SECTOR_BITS)
// The number of unusable blocks in a row after which a search gives up.
#define RETRIES 8u

struct entry {
  uint32_t sector;
  uint32_t alt[SECTOR_BITS];
};

static uint32_t get32(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// The NAND ------------------------------------------------------------------------------------

static uint32_t page_bytes(const struct dhara *d) { return d->nand->program_bytes; }

static int nand_read(struct dhara *d, uint32_t page, uint32_t offset, void *data, uint32_t size) {
  uint32_t at = page % d->block_pages * page_bytes(d) + offset;
  if (d->nand->read(d->nand->context, page / d->block_pages, at, data, size) < 0) return DHARA_IO;
  // The page was loaded before its checksum was found wrong.
  return d->torn[page] ? DHARA_DAMAGED : DHARA_OK;
}

static int nand_program(struct dhara *d, uint32_t page, const void *data) {
  uint32_t at = page % d->block_pages * page_bytes(d);
  if (!d->nand->program(d->nand->context, page / d->block_pages, at, data, page_bytes(d)))
    return DHARA_OK;
  d->torn[page] = true;
  return DHARA_IO;
}

static int nand_erase(struct dhara *d, uint32_t block) {
  int error = d->nand->erase(d->nand->context, block) ? DHARA_IO : DHARA_OK;
  for (uint32_t i = 0; i < d->block_pages; i++) d->torn[block * d->block_pages + i] = error;
  return error;
}

static bool is_bad(const struct dhara *d, uint32_t block) {
  return d->nand->is_bad(d->nand->context, block);
}

// Returns true if a page has not been programmed. The page has to be read to know.
static bool is_free(struct dhara *d, uint32_t page) {
  if (nand_read(d, page, 0, d->copy, page_bytes(d))) return false;
  for (uint32_t i = 0; i < page_bytes(d); i++)
    if (d->copy[i] != 0xff) return false;
  return true;
}

// The journal: pages with metadata, added at the head and removed at the tail ------------------

static uint32_t block_of(const struct dhara *d, uint32_t page) { return page / d->block_pages; }
static uint32_t blocks(const struct dhara *d) { return d->nand->block_count; }

static bool ends_group(const struct dhara *d, uint32_t page) {
  return page % d->group_pages == d->group_pages - 1;
}

// Returns the next page that does not hold metadata.
static uint32_t after(const struct dhara *d, uint32_t page) {
  page++;
  if (ends_group(d, page)) page++;
  return page >= d->pages ? 0 : page;
}

static void new_pass(struct dhara *d) {
  d->bad_last = d->bad_seen;
  d->bad_seen = 0;
  d->epoch++;
}

static void forget_metadata(struct dhara *d) { memset(d->metadata, 0xff, page_bytes(d)); }

static void empty(struct dhara *d) {
  d->epoch = 0;
  d->bad_last = blocks(d) >> 6;  // a careful guess
  d->bad_seen = 0;
  d->head = d->tail = d->tail_synced = 0;
  d->root = NO_PAGE;
  d->count = 0;
  d->dirty = false;
  forget_metadata(d);
}

// Returns the pages of a group: the largest power of two whose metadata fits one page, which is
// itself a page of the group.
static uint32_t pages_of_group(const struct fp_medium *nand) {
  uint32_t pages = 2;
  while (pages < nand->block_bytes / nand->program_bytes &&
         ENTRIES_OFFSET + (2 * pages - 1) * ENTRY_BYTES <= nand->program_bytes)
    pages *= 2;
  return pages;
}

static uint32_t journal_capacity(const struct dhara *d) {
  uint32_t bad = d->bad_last > d->bad_seen ? d->bad_last : d->bad_seen;
  return (blocks(d) - bad - 1) * (d->block_pages - d->block_pages / d->group_pages);
}

static uint32_t journal_size(const struct dhara *d) {
  uint32_t pages = d->head, groups = d->head / d->group_pages;
  if (d->head < d->tail_synced) {
    pages += d->pages;
    groups += d->pages / d->group_pages;
  }
  return pages - d->tail_synced - (groups - d->tail_synced / d->group_pages);
}

static int entry_of(struct dhara *d, uint32_t page, struct entry *entry) {
  uint8_t bytes[ENTRY_BYTES];
  uint32_t offset = ENTRIES_OFFSET + page % d->group_pages * ENTRY_BYTES;
  if (page / d->group_pages == d->head / d->group_pages) {
    memcpy(bytes, d->metadata + offset, ENTRY_BYTES);
  } else {
    uint32_t last = page | (d->group_pages - 1);
    int error = nand_read(d, last, offset, bytes, ENTRY_BYTES);
    if (error) return error;
  }
  entry->sector = get32(bytes);
  for (uint32_t bit = 0; bit < SECTOR_BITS; bit++) entry->alt[bit] = get32(bytes + 4 + 4 * bit);
  return DHARA_OK;
}

// Moves the head to a page that can be programmed.
static int prepare_head(struct dhara *d) {
  uint32_t next = after(d, d->head), kept = block_of(d, d->tail_synced);
  if (block_of(d, next) == kept && block_of(d, next) != block_of(d, d->head)) return DHARA_FULL;
  d->dirty = true;
  if (d->head % d->block_pages) return DHARA_OK;
  for (uint32_t tries = 0; tries < RETRIES; tries++) {
    uint32_t block = block_of(d, d->head);
    if (!is_bad(d, block)) return nand_erase(d, block);
    d->bad_seen++;
    block = (block + 1) % blocks(d);
    if (block == kept) return DHARA_FULL;
    d->head = block * d->block_pages;
    if (!d->head) new_pass(d);
  }
  return DHARA_FULL;
}

static int enqueue(struct dhara *d, const uint8_t *data, const struct entry *entry) {
  int error = prepare_head(d);
  if (error) return error;
  if ((error = nand_program(d, d->head, data))) return error;
  uint8_t *at = d->metadata + ENTRIES_OFFSET + d->head % d->group_pages * ENTRY_BYTES;
  put32(at, entry->sector);
  for (uint32_t bit = 0; bit < SECTOR_BITS; bit++) put32(at + 4 + 4 * bit, entry->alt[bit]);
  d->root = d->head;
  if (!ends_group(d, d->head + 1)) {
    d->head++;
    return DHARA_OK;
  }
  // The group is full, so its last page becomes a checkpoint.
  memcpy(d->metadata, "Dha", 3);
  d->metadata[3] = d->epoch;
  put32(d->metadata + 4, d->tail);
  put32(d->metadata + 8, d->bad_seen);
  put32(d->metadata + 12, d->bad_last);
  put32(d->metadata + COOKIE_OFFSET, d->count);
  if ((error = nand_program(d, d->head + 1, d->metadata))) return error;
  forget_metadata(d);
  d->dirty = false;
  d->tail_synced = d->tail;
  d->head = after(d, d->head);
  if (!d->head) new_pass(d);
  return DHARA_OK;
}

static int copy_to_head(struct dhara *d, uint32_t page, const struct entry *entry) {
  int error = nand_read(d, page, 0, d->copy, page_bytes(d));
  return error ? error : enqueue(d, d->copy, entry);
}

// Moves the tail past bad blocks, and returns the oldest page.
static uint32_t oldest(struct dhara *d) {
  if (d->head == d->tail) return NO_PAGE;
  uint32_t block = block_of(d, d->tail);
  for (uint32_t tries = 0; d->tail % d->block_pages == 0 && tries < RETRIES; tries++) {
    if (block == block_of(d, d->head) || !is_bad(d, block)) {
      d->tail = block * d->block_pages;
      break;
    }
    block = (block + 1) % blocks(d);
  }
  return d->tail;
}

static void dequeue(struct dhara *d) {
  if (d->head == d->tail) return;
  d->tail = after(d, d->tail);
  // In a clean journal the page was obsolete already.
  if (!d->dirty) d->tail_synced = d->tail;
}

// Resumption: bisects to the last block of this pass, then to its last group; the head is there --

// Reads the first checkpoint of the first block, from `block` on, that has one.
static bool find_checkpoint(struct dhara *d, uint32_t block, uint32_t *holder) {
  for (uint32_t tries = 0; tries < RETRIES && block < blocks(d); tries++, block++) {
    uint32_t page = block * d->block_pages + d->group_pages - 1;
    if (is_bad(d, block) || nand_read(d, page, 0, d->metadata, page_bytes(d))) continue;
    if (memcmp(d->metadata, "Dha", 3)) continue;
    *holder = block;
    return true;
  }
  return false;
}

static bool is_of_pass(struct dhara *d, uint32_t block, uint32_t *holder) {
  return find_checkpoint(d, block, holder) && d->metadata[3] == d->epoch;
}

static uint32_t last_block(struct dhara *d, uint32_t first) {
  uint32_t low = first, high = blocks(d);  // in [low, high)
  while (low < high) {
    uint32_t middle = (low + high - 1) / 2, block, next;
    if (!is_of_pass(d, middle, &block)) {
      high = middle;
    } else {
      if (block + 1 >= blocks(d) || !is_of_pass(d, block + 1, &next)) return block;
      low = next;
    }
  }
  return first;
}

static bool group_is_free(struct dhara *d, uint32_t first) {
  for (uint32_t i = 0; i < d->group_pages; i++)
    if (!is_free(d, first + i)) return false;
  return true;
}

static uint32_t last_group(struct dhara *d, uint32_t block) {
  uint32_t first = block * d->block_pages;
  uint32_t low = 0, high = d->block_pages / d->group_pages;
  while (low < high) {
    uint32_t middle = (low + high - 1) / 2, page = first + middle * d->group_pages;
    if (group_is_free(d, page)) {
      high = middle;
    } else {
      page += d->group_pages;
      if (page >= first + d->block_pages || group_is_free(d, page)) return page - d->group_pages;
      low = middle + 1;
    }
  }
  return first;
}

// Reads the last intact checkpoint at or before a group, in the same block.
static bool read_root(struct dhara *d, uint32_t group) {
  uint32_t first = block_of(d, group) * d->block_pages;
  for (;; group -= d->group_pages) {
    uint32_t page = group + d->group_pages - 1;
    if (!nand_read(d, page, 0, d->metadata, page_bytes(d)) && !memcmp(d->metadata, "Dha", 3) &&
        d->metadata[3] == d->epoch) {
      d->root = page - 1;
      return true;
    }
    if (group == first) return false;
  }
}

static void find_head(struct dhara *d, uint32_t group) {
  d->head = after(d, group);
  for (;;) {
    uint32_t first = d->head - d->head % d->group_pages, free = 0;
    while (free < d->group_pages && is_free(d, first + d->group_pages - 1 - free)) free++;
    if (free > 1) {
      d->head = first + d->group_pages - free;
      return;
    }
    d->head = first + d->group_pages;
    if (d->head >= d->pages) {
      d->head = 0;
      new_pass(d);
    }
    if (d->head % d->block_pages == 0) {
      if (block_of(d, d->head) == block_of(d, d->tail))
        d->tail = (block_of(d, d->tail) + 1) % blocks(d) * d->block_pages;
      return;
    }
  }
}

static void resume(struct dhara *d) {
  uint32_t first;
  empty(d);
  if (!find_checkpoint(d, 0, &first)) {
    empty(d);
    return;
  }
  d->epoch = d->metadata[3];
  uint32_t group = last_group(d, last_block(d, first));
  if (!read_root(d, group)) {
    empty(d);
    return;
  }
  d->tail = get32(d->metadata + 4);
  d->bad_seen = get32(d->metadata + 8);
  d->bad_last = get32(d->metadata + 12);
  d->count = get32(d->metadata + COOKIE_OFFSET);
  forget_metadata(d);
  find_head(d, group);
  d->tail_synced = d->tail;
}

// The map: the alt-pointers of a journal page lead to every sector as it was at that time -------

static uint32_t capacity(const struct dhara *d) {
  uint32_t journal = journal_capacity(d);
  uint32_t kept = journal / (d->ratio + 1) + RETRIES * d->block_pages;
  return journal > kept ? journal - kept : 0;
}

// Walks from the root to a sector's page. `path` receives the entry of a new page of this sector.
static int find(struct dhara *d, uint32_t sector, uint32_t *sector_page, struct entry *path) {
  struct entry entry;
  uint32_t page = d->root, bit = 0;
  if (path) path->sector = sector;
  if (page != NO_PAGE) {
    int error = entry_of(d, page, &entry);
    if (error) return error;
    if (entry.sector == NO_SECTOR) page = NO_PAGE;
  }
  for (; page != NO_PAGE && bit < SECTOR_BITS; bit++) {
    if (!((sector ^ entry.sector) >> (SECTOR_BITS - 1 - bit) & 1)) {
      if (path) path->alt[bit] = entry.alt[bit];
      continue;
    }
    if (path) path->alt[bit] = page;
    page = entry.alt[bit];
    if (page == NO_PAGE) {
      bit++;
      break;
    }
    int error = entry_of(d, page, &entry);
    if (error) return error;
  }
  for (; path && bit < SECTOR_BITS; bit++) path->alt[bit] = NO_PAGE;
  if (sector_page) *sector_page = page;
  return page == NO_PAGE ? DHARA_NONE : DHARA_OK;
}

// Removes the oldest page of the journal. A page that is still current is copied to the head first.
static int collect(struct dhara *d) {
  struct entry entry;
  uint32_t page = d->count ? oldest(d) : NO_PAGE, current;
  if (page == NO_PAGE) return DHARA_OK;
  int error = entry_of(d, page, &entry);
  if (error == DHARA_DAMAGED) {
    // A power cut damaged the checkpoint of this group, and no pointer leads to it. Dhara's
    // documents do not cover this case; according to its issues 37 and 46 collection then fails for
    // good. The model treats the group as garbage, which favours Dhara.
    error = DHARA_OK;
  } else if (!error && entry.sector != NO_SECTOR) {
    error = find(d, entry.sector, &current, &entry);
    if (error == DHARA_NONE)
      error = DHARA_OK;
    else if (!error && current == page)
      error = copy_to_head(d, page, &entry);
  }
  if (!error) dequeue(d);
  return error;
}

// Writes the newest page again, to fill a group.
static int pad(struct dhara *d) {
  struct entry entry;
  if (d->root == NO_PAGE) return DHARA_NONE;
  int error = entry_of(d, d->root, &entry);
  return error ? error : copy_to_head(d, d->root, &entry);
}

uint32_t dhara_ratio_for(const struct fp_medium *nand, uint32_t sectors) {
  struct dhara d = {.nand = nand, .group_pages = pages_of_group(nand)};
  d.block_pages = nand->block_bytes / nand->program_bytes;
  d.bad_last = nand->block_count >> 6;
  // Dhara stores the ratio in 8 bits.
  for (d.ratio = 1; d.ratio < 256; d.ratio++)
    if (capacity(&d) >= sectors) return d.ratio;
  return 0;
}

int dhara_open(struct dhara *d, const struct fp_medium *nand, bool *torn, uint32_t ratio) {
  memset(d, 0, sizeof *d);
  d->nand = nand;
  d->torn = torn;
  d->ratio = ratio;
  d->block_pages = nand->block_bytes / nand->program_bytes;
  d->group_pages = pages_of_group(nand);
  d->pages = nand->block_count * d->block_pages;
  d->metadata = malloc(page_bytes(d));
  d->copy = malloc(page_bytes(d));
  if (!d->metadata || !d->copy) return DHARA_IO;
  resume(d);
  return DHARA_OK;
}

void dhara_close(struct dhara *d) {
  free(d->metadata);
  free(d->copy);
}

int dhara_write(struct dhara *d, uint32_t sector, const uint8_t *data) {
  struct entry entry;
  int error;
  if (journal_size(d) >= capacity(d))
    for (uint32_t step = 0; step <= d->ratio; step++)
      if ((error = collect(d))) return error;
  uint32_t count = d->count;
  error = find(d, sector, NULL, &entry);
  if (error == DHARA_NONE) {
    if (d->count >= capacity(d)) return DHARA_FULL;
    d->count++;
  } else if (error) {
    return error;
  }
  error = enqueue(d, data, &entry);
  if (error) d->count = count;
  return error;
}

int dhara_read(struct dhara *d, uint32_t sector, uint8_t *data) {
  uint32_t page;
  int error = find(d, sector, &page, NULL);
  return error ? error : nand_read(d, page, 0, data, page_bytes(d));
}

int dhara_sync(struct dhara *d) {
  while (d->dirty) {
    int error = oldest(d) == NO_PAGE ? pad(d) : collect(d);
    if (error) return error;
  }
  return DHARA_OK;
}
