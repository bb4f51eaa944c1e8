// Dhara, from what its README and map_internals.txt say of it: benches/log.c sets it beside our log.
//
// Dhara (https://github.com/dlbeer/dhara) is a flash translation layer for small processors. No
// package holds it, so this is a model in our own words: the journal, the radix tree of
// alt-pointers, collection at the tail, and resumption by bisection. Every page and every piece of
// metadata is on the medium and read from there. What is not in it: recovery from a block that goes
// bad while it is written, and trimming.
#ifndef FLASHPAGER_BENCH_DHARA_H
#define FLASHPAGER_BENCH_DHARA_H

#include "../runtime/medium/flashpager_medium.h"

#include <stdbool.h>
#include <stdint.h>

enum dhara_result {
  DHARA_OK = 0,
  DHARA_FULL = -1,  // the map or the journal
  DHARA_IO = -2,    // no power
  DHARA_NONE = -3,  // no such sector
  DHARA_DAMAGED = -4,  // a page that was hit by a cut
};

struct dhara {
  const struct fp_medium *nand;
  // Of each flash page, what a checksum in its spare area would say: it was hit by a cut.
  bool *torn;
  uint8_t *metadata;  // a flash page: that of the group being filled
  uint8_t *copy;      // a flash page: on its way from the tail to the head
  uint32_t block_pages;
  uint32_t group_pages;  // flash pages of a checkpoint group, the last of them metadata
  uint32_t pages;        // of the medium
  uint32_t ratio;        // collection steps for a write
  uint32_t head;         // next page to be written
  uint32_t tail;         // oldest page of the journal
  uint32_t tail_synced;  // as the last checkpoint has it
  uint32_t root;         // the page written last
  uint32_t count;        // sectors mapped
  uint32_t bad_seen;     // bad blocks before the head
  uint32_t bad_last;     // in the last pass
  uint8_t epoch;         // passes over the medium
  bool dirty;
};

// The smallest collection ratio with which a fresh medium holds so many sectors; 0 if none does.
uint32_t dhara_ratio_for(const struct fp_medium *nand, uint32_t sectors);

// Resume the map that the medium holds, or an empty map if it holds none. `torn` outlives the
// power.
int dhara_open(struct dhara *dhara, const struct fp_medium *nand, bool *torn, uint32_t ratio);
void dhara_close(struct dhara *dhara);

int dhara_write(struct dhara *dhara, uint32_t sector, const uint8_t *data);
int dhara_read(struct dhara *dhara, uint32_t sector, uint8_t *data);
int dhara_sync(struct dhara *dhara);

#endif
