// A model of Dhara after its README and map_internals.txt; benches/log.c compares it with our log.
//
// Dhara (https://github.com/dlbeer/dhara) is a flash translation layer for small processors. It is
// in no package registry, so this is our own implementation of its published design: the journal,
// the radix tree of alt-pointers, collection at the tail, and resumption by bisection. Every page
// and every piece of metadata is on the medium and read from there. Two features are left out:
// recovery from a block that goes bad while it is written, and trimming.
#ifndef FLASHPAGER_BENCH_DHARA_H
#define FLASHPAGER_BENCH_DHARA_H

#include "../runtime/medium/flashpager_medium.h"

#include <stdbool.h>
#include <stdint.h>

enum dhara_result {
  DHARA_OK = 0,
  DHARA_FULL = -1,     // the map or the journal is full
  DHARA_IO = -2,       // the power is off
  DHARA_NONE = -3,     // the map has no such sector
  DHARA_DAMAGED = -4,  // a power cut has damaged the page
};

struct dhara {
  const struct fp_medium *nand;
  // For each flash page, whether a power cut damaged it. It stands for a checksum in the spare area.
  bool *torn;
  uint8_t *metadata;     // buffer of one flash page: the metadata of the group being filled
  uint8_t *copy;         // buffer of one flash page: copies from the tail to the head, and checks
  uint32_t block_pages;  // flash pages per erase block
  uint32_t group_pages;  // flash pages per checkpoint group; the last of them is the metadata
  uint32_t pages;        // flash pages of the medium
  uint32_t ratio;        // collection steps per write
  uint32_t head;         // the next page to be written
  uint32_t tail;         // the oldest page of the journal
  uint32_t tail_synced;  // the tail in the last checkpoint
  uint32_t root;         // the page written last
  uint32_t count;        // mapped sectors
  uint32_t bad_seen;     // bad blocks passed in this pass over the medium
  uint32_t bad_last;     // bad blocks of the last pass
  uint8_t epoch;         // passes over the medium
  bool dirty;            // true if pages were written since the last checkpoint
};

// Returns the smallest collection ratio with which a fresh medium holds so many sectors, or 0.
uint32_t dhara_ratio_for(const struct fp_medium *nand, uint32_t sectors);

// Resumes the map on the medium, or an empty map if the medium holds none. The caller keeps `torn`
// across power cuts.
int dhara_open(struct dhara *dhara, const struct fp_medium *nand, bool *torn, uint32_t ratio);
void dhara_close(struct dhara *dhara);

int dhara_write(struct dhara *dhara, uint32_t sector, const uint8_t *data);
int dhara_read(struct dhara *dhara, uint32_t sector, uint8_t *data);
int dhara_sync(struct dhara *dhara);

#endif
