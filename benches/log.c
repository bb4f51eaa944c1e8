// Counts the programs, reads and erasures of a store on NAND: our log, or Dhara (dhara.h).
//
// benches/log.py compiles this and calls it:
//
//     log log|dhara WORKLOAD LIVE SYNC TURNOVERS SEED [BLOCKS]
//
// The emulated NAND has BLOCKS (256) blocks of 128 KiB and flash pages of 2 KiB. The pages of memory
// are 4 KiB and incompressible. First all of them are written in order; together they fill LIVE
// percent of the medium. Then TURNOVERS times as many pages are overwritten, drawn by WORKLOAD. The
// printed counts are those of the overwriting. With SYNC n the store is synced after every n pages,
// with 0 never. Finally pages are read at random, and the store is mounted after a sync and after
// power cuts. Every page read is checked. Prints one line of JSON.
//
// A page of memory is two sectors of Dhara.
#include "../runtime/medium/emulated.h"
#include "../runtime/swap/flashpager_swap.h"
#include "dhara.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PAGE_BYTES 4096u
#define SECTOR_BYTES 2048u
#define BLOCK_BYTES 131072u
#define READS 20000u
#define CUTS 10u

_Noreturn static void fail(const char *message, long detail) {
  fprintf(stderr, "log: %s (%ld)\n", message, detail);
  exit(2);
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) fail("no memory", (long)bytes);
  return memory;
}

static uint64_t random_state;

// splitmix64
static uint64_t draw(void) {
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint32_t below(uint32_t bound) { return (uint32_t)((draw() >> 32) * bound >> 32); }
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

// Workloads ---------------------------------------------------------------------------------------

static uint32_t slots;
static uint32_t *shuffled;           // slots in random order, the most often written first
static double *zipf_shares_through;  // for each rank, the share of all ranks up to it
static uint64_t all_writes;          // pages that the workload writes

static void prepare_workload(void) {
  double sum = 0;
  shuffled = allocate(slots * sizeof *shuffled);
  zipf_shares_through = allocate(slots * sizeof *zipf_shares_through);
  for (uint32_t i = 0; i < slots; i++) {
    uint32_t other = below(i + 1);
    shuffled[i] = shuffled[other];
    shuffled[other] = i;
    zipf_shares_through[i] = sum += pow(i + 1.0, -0.99);
  }
  for (uint32_t i = 0; i < slots; i++) zipf_shares_through[i] /= sum;
}

static uint32_t uniform(uint64_t write) {
  (void)write;
  return below(slots);
}

static uint32_t sequential(uint64_t write) { return (uint32_t)(write % slots); }

static uint32_t zipf(uint64_t write) {
  double share = unit();
  uint32_t low = 0, high = slots - 1;
  (void)write;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (zipf_shares_through[middle] < share)
      low = middle + 1;
    else
      high = middle;
  }
  return shuffled[low];
}

// Draws a slot: with `percent` probability one of the `count` slots from rank `first` on.
static uint32_t hot(uint32_t percent, uint32_t first, uint32_t count) {
  if (below(100) < percent) return shuffled[(first + below(count)) % slots];
  return shuffled[(first + count + below(slots - count)) % slots];
}

static uint32_t hot_cold(uint64_t write) {
  (void)write;
  return hot(90, 0, slots / 10);
}

// Half way through, other slots become the hot ones.
static uint32_t phases(uint64_t write) {
  return hot(80, write < all_writes / 2 ? 0 : slots / 2, slots / 5);
}

static const struct {
  const char *name;
  uint32_t (*next)(uint64_t write);
} workloads[] = {
    {"uniform", uniform}, {"zipf", zipf},           {"hot-cold", hot_cold},
    {"phases", phases},   {"sequential", sequential},
};

// Stores ------------------------------------------------------------------------------------------

static struct fp_emulated *emulated;
static bool is_dhara;
static uint32_t ratio;

static struct fp_swap store;
static struct fp_swap_config config;

static struct dhara dhara;
static bool *torn;
static bool dhara_is_open;

static uint32_t crc(uint32_t crc, const void *data, size_t size) {
  return (uint32_t)crc32(crc, data, (uInt)size);
}

static int mount_store(bool fresh) {
  if (!is_dhara) {
    // The old contents of the memory must not matter, so they are overwritten.
    memset(config.memory, 0x6b, config.memory_bytes);
    return fresh ? fp_swap_format(&store, &config) : fp_swap_mount(&store, &config);
  }
  if (dhara_is_open) dhara_close(&dhara);
  dhara_is_open = true;
  return dhara_open(&dhara, fp_emulated_medium(emulated), torn, ratio);
}

static int write_page(uint32_t slot, const uint8_t *page) {
  if (!is_dhara) return fp_swap_write(&store, slot, page);
  int error = dhara_write(&dhara, 2 * slot, page);
  return error ? error : dhara_write(&dhara, 2 * slot + 1, page + SECTOR_BYTES);
}

static int read_page(uint32_t slot, uint8_t *page) {
  if (!is_dhara) return fp_swap_read(&store, slot, page);
  int error = dhara_read(&dhara, 2 * slot, page);
  return error ? error : dhara_read(&dhara, 2 * slot + 1, page + SECTOR_BYTES);
}

static int sync_store(void) { return is_dhara ? dhara_sync(&dhara) : fp_swap_sync(&store); }

static void open_store(uint32_t blocks) {
  const struct fp_medium *medium = fp_emulated_medium(emulated);
  if (is_dhara) {
    torn = allocate((size_t)blocks * (BLOCK_BYTES / SECTOR_BYTES));
    ratio = dhara_ratio_for(medium, 2 * slots);
    return;
  }
  size_t words = FP_SWAP_LOG_WORDS(slots, blocks, PAGE_BYTES, medium->program_bytes);
  config = (struct fp_swap_config){
      .medium = medium,
      .layout = &fp_swap_log,
      .crc = crc,
      .page_bytes = PAGE_BYTES,
      .slot_count = slots,
      .memory = allocate(words * 4),
      .memory_bytes = words * 4,
  };
}

// Contents of pages: each half begins with its slot and version --------------------------------------

static uint8_t page[PAGE_BYTES];
static uint32_t last_version;
static uint32_t *tried;    // the version last sent to each slot, whether or not the write succeeded
static uint32_t *version;  // the version that each slot holds
static uint32_t *synced;   // the version that each slot held at the last sync

static int write_next(uint32_t slot) {
  tried[slot] = ++last_version;
  for (uint32_t half = 0; half < PAGE_BYTES; half += SECTOR_BYTES) {
    uint32_t head[2] = {slot, last_version};
    memcpy(page + half, head, sizeof head);
  }
  int error = write_page(slot, page);
  if (!error) version[slot] = last_version;
  return error;
}

static void sync_all(void) {
  int error = sync_store();
  if (error) fail("sync failed", error);
  memcpy(synced, version, slots * sizeof *synced);
}

// Reads a page and checks that its versions lie within bounds. Returns true if its halves agree.
static bool read_back(uint32_t slot, uint32_t oldest, uint32_t newest) {
  uint32_t heads[2][2];
  int error = read_page(slot, page);
  if (error) fail("a page cannot be read", error);
  memcpy(heads[0], page, sizeof heads[0]);
  memcpy(heads[1], page + SECTOR_BYTES, sizeof heads[1]);
  for (int half = 0; half < 2; half++) {
    if (heads[half][0] != slot) fail("another slot's page", slot);
    if (heads[half][1] < oldest || heads[half][1] > newest) fail("a wrong version", slot);
  }
  version[slot] = heads[0][1];
  return heads[0][1] == heads[1][1];
}

static struct fp_emulated_counters count(void) {
  struct fp_emulated_counters counters;
  fp_emulated_counters(emulated, &counters);
  return counters;
}

int main(int argc, char **argv) {
  uint32_t (*next)(uint64_t) = NULL;
  if (argc < 7) fail("log|dhara WORKLOAD LIVE SYNC TURNOVERS SEED [BLOCKS]", argc);
  is_dhara = !strcmp(argv[1], "dhara");
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
    if (!strcmp(argv[2], workloads[i].name)) next = workloads[i].next;
  if (!next) fail("no such workload", 0);
  uint32_t blocks = argc > 7 ? (uint32_t)atoi(argv[7]) : 256;
  uint64_t live = (uint64_t)blocks * BLOCK_BYTES * (uint32_t)atoi(argv[3]) / 100;
  uint32_t sync_every = (uint32_t)atoi(argv[4]);
  random_state = (uint64_t)atoll(argv[6]);
  slots = (uint32_t)(live / PAGE_BYTES);
  all_writes = (uint64_t)(atof(argv[5]) * slots);
  prepare_workload();
  tried = allocate(slots * sizeof *tried);
  version = allocate(slots * sizeof *version);
  synced = allocate(slots * sizeof *synced);
  for (uint32_t i = 0; i < PAGE_BYTES; i++) page[i] = (uint8_t)draw();

  struct fp_emulated_config shape = {.program_bytes = SECTOR_BYTES,
                                     .block_bytes = BLOCK_BYTES,
                                     .block_count = blocks,
                                     .seed = draw()};
  emulated = fp_emulated_open(&shape);
  if (!emulated) fail("no medium", blocks);
  open_store(blocks);
  if (is_dhara && !ratio) {
    printf("{\"holds\": false}\n");
    return 0;
  }
  int error = mount_store(true);
  if (error) fail("cannot be formatted", error);
  for (uint32_t slot = 0; slot < slots; slot++)
    if ((error = write_next(slot))) fail("cannot be filled", error);

  uint32_t *wear = allocate(blocks * sizeof *wear);
  for (uint32_t block = 0; block < blocks; block++) wear[block] = fp_emulated_wear(emulated, block);
  struct fp_emulated_counters before = count(), last = before;
  uint64_t most = 0;  // the most programs, loads and erasures of one write, without its sync
  for (uint64_t i = 0; i < all_writes; i++) {
    if ((error = write_next(next(i)))) fail("cannot be written", error);
    struct fp_emulated_counters now = count();
    uint64_t operations = now.programs - last.programs + now.loads - last.loads + now.erases -
                          last.erases;
    if (operations > most) most = operations;
    if (sync_every && (i + 1) % sync_every == 0) sync_all();
    last = count();
  }
  struct fp_emulated_counters after = last;
  double writes = (double)all_writes;
  printf("{\"holds\": true, \"ratio\": %u, \"slots\": %u", ratio, slots);
  printf(", \"programs\": %.4f", (double)(after.programs - before.programs) / writes);
  printf(", \"loads\": %.4f", (double)(after.loads - before.loads) / writes);
  printf(", \"erases\": %.5f", (double)(after.erases - before.erases) / writes);
  printf(", \"amplification\": %.4f",
         (double)(after.program_bytes - before.program_bytes) / writes / PAGE_BYTES);
  printf(", \"worst\": %llu", (unsigned long long)most);
  // `wear` counts the erasures of the whole run, `wear_since` those of the overwriting alone.
  double sum = 0, largest = 0, sum_since = 0, largest_since = 0;
  for (uint32_t block = 0; block < blocks; block++) {
    double erasures = fp_emulated_wear(emulated, block), since = erasures - wear[block];
    sum += erasures;
    sum_since += since;
    largest = fmax(largest, erasures);
    largest_since = fmax(largest_since, since);
  }
  printf(", \"wear\": %.4f, \"wear_since\": %.4f", largest * blocks / fmax(sum, 1),
         largest_since * blocks / fmax(sum_since, 1));

  sync_all();
  before = count();
  for (uint32_t i = 0; i < READS; i++) {
    uint32_t slot = below(slots);
    read_back(slot, version[slot], version[slot]);
  }
  after = count();
  printf(", \"read_loads\": %.4f", (double)(after.loads - before.loads) / READS);
  before = count();
  if ((error = mount_store(false))) fail("cannot be mounted", error);
  after = count();
  printf(", \"mount_loads\": %llu", (unsigned long long)(after.loads - before.loads));
  printf(", \"mount_programs\": %llu", (unsigned long long)(after.programs - before.programs));

  double cut_loads = 0, cut_programs = 0, cut_most = 0;
  uint32_t mixed = 0;  // pages whose halves have different versions
  for (uint32_t cut = 0; cut < CUTS; cut++) {
    sync_all();
    fp_emulated_cut_power(emulated, 1 + below(3000), (enum fp_emulated_cut)below(3));
    for (uint64_t i = 0; !fp_emulated_is_off(emulated); i++) {
      error = write_next(next(i));
      if (error && !fp_emulated_is_off(emulated)) fail("cannot be written", error);
    }
    fp_emulated_cut_power(emulated, 0, FP_EMULATED_CUT_BEFORE);
    fp_emulated_power_on(emulated);
    before = count();
    if ((error = mount_store(false))) fail("cannot be mounted after a cut", error);
    after = count();
    double loads = (double)(after.loads - before.loads);
    cut_loads += loads / CUTS;
    cut_most = fmax(cut_most, loads);
    cut_programs += (double)(after.programs - before.programs) / CUTS;
    for (uint32_t slot = 0; slot < slots; slot++) {
      if (read_back(slot, synced[slot], tried[slot])) continue;
      // The page is not usable, and is written again.
      mixed++;
      if ((error = write_next(slot))) fail("cannot be written", error);
    }
  }
  printf(", \"cut_loads\": %.1f, \"cut_loads_most\": %.0f, \"cut_programs\": %.1f", cut_loads,
         cut_most, cut_programs);
  printf(", \"mixed\": %u, \"flash_pages\": %u}\n", mixed, blocks * (BLOCK_BYTES / SECTOR_BYTES));
  return 0;
}
