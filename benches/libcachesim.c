// Replays a file of page references with libCacheSim, called through its C interface.
//
// benches/sweep.py compiles this against libCacheSim and calls it:
//
//     libcachesim FILE caches POLICY SIZE,SIZE,...   one cache after another
//     libcachesim FILE distances LARGEST             LRU, one pass of stack distances
//
// FILE holds little-endian 32-bit page numbers. Prints one line of JSON. `seconds`
// is the time of the requests alone. It excludes reading the file, creating the
// caches, and finding the next uses for Belady.

#include <libCacheSim.h>
#include <libCacheSim/dist.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Declarations from libCacheSim's splay.h, which it does not install.
struct sTree;
int64_t get_stack_dist_add_req(const request_t *req, struct sTree **tree, GHashTable *last,
                               const int64_t time, int64_t *last_time);

static uint32_t *pages;
static int64_t *next_uses;
static long references;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *message) {
  fprintf(stderr, "libcachesim: %s\n", message);
  exit(2);
}

static void read_pages(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail("cannot open the references");
  references = ftell(file) / 4;
  rewind(file);
  pages = malloc(references * sizeof *pages);
  if (fread(pages, 4, references, file) != (size_t)references) fail("cannot read the references");
  fclose(file);
}

static void find_next_uses(void) {
  uint32_t largest = 0;
  for (long i = 0; i < references; i++) largest = pages[i] > largest ? pages[i] : largest;
  int64_t *next_use_of = malloc((largest + 1ul) * sizeof *next_use_of);
  for (uint32_t page = 0; page <= largest; page++) next_use_of[page] = INT64_MAX;
  next_uses = malloc(references * sizeof *next_uses);
  for (long i = references - 1; i >= 0; i--) {
    next_uses[i] = next_use_of[pages[i]];
    next_use_of[pages[i]] = i;
  }
}

static request_t *unit_request(void) {
  request_t *request = new_request();
  request->obj_size = 1;
  request->valid = true;
  return request;
}

// Returns the misses of one cache of `frames` pages, and adds the time of the requests to `seconds`.
static long misses_of(const char *policy, long frames, double *seconds) {
  // A table of 2^12 entries holds all frames, and stays in the processor's cache.
  common_cache_params_t design = {
      .cache_size = frames, .default_ttl = 86400 * 300, .hashpower = 12};
  // libCacheSim's clock inserts pages with the reference bit clear. With init-freq=1 it is set, as
  // in flashpager.
  cache_t *cache = !strcmp(policy, "lru")     ? LRU_init(design, NULL)
                   : !strcmp(policy, "fifo")  ? FIFO_init(design, NULL)
                   : !strcmp(policy, "clock") ? Clock_init(design, "init-freq=1")
                   : !strcmp(policy, "min")   ? Belady_init(design, NULL)
                                              : NULL;
  if (!cache) fail("unknown policy");
  request_t *request = unit_request();
  long misses = 0;
  double start = now();
  for (long i = 0; i < references; i++) {
    request->obj_id = pages[i];
    request->hv = 0;
    if (next_uses) request->next_access_vtime = next_uses[i];
    misses += !cache->get(cache, request);
  }
  *seconds += now() - start;
  free_request(request);
  cache->cache_free(cache);
  return misses;
}

static void run_caches(const char *policy, char *sizes) {
  if (!strcmp(policy, "min")) find_next_uses();
  double seconds = 0;
  const char *comma = "";
  printf("{\"misses\": [");
  for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ","), comma = ", ")
    printf("%s%ld", comma, misses_of(policy, atol(size), &seconds));
  printf("], \"references\": %ld, \"seconds\": %.9f}\n", references, seconds);
}

// Prints the misses of LRU at all sizes up to `largest` frames, from each reference's stack distance.
static void run_distances(long largest) {
  long *at_distance = calloc(largest + 1, sizeof *at_distance);
  request_t *request = unit_request();
  struct sTree *tree = NULL;
  double start = now();
  GHashTable *last = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (long i = 0; i < references; i++) {
    request->obj_id = pages[i];
    // Times begin at 1, because get_stack_dist_add_req() reads a time of 0 as "never".
    int64_t distance = get_stack_dist_add_req(request, &tree, last, i + 1, NULL);
    at_distance[distance < 0 || distance > largest ? largest : distance]++;
  }
  double seconds = now() - start;
  long misses = references;
  printf("{\"misses\": [");
  for (long frames = 1; frames <= largest; frames++) {
    misses -= at_distance[frames - 1];
    printf("%s%ld", frames > 1 ? ", " : "", misses);
  }
  printf("], \"references\": %ld, \"seconds\": %.9f}\n", references, seconds);
}

int main(int argc, char **argv) {
  if (argc < 4) fail("FILE caches POLICY SIZES, or FILE distances LARGEST");
  read_pages(argv[1]);
  if (!strcmp(argv[2], "caches") && argc == 5)
    run_caches(argv[3], argv[4]);
  else if (!strcmp(argv[2], "distances"))
    run_distances(atol(argv[3]));
  else
    fail("FILE caches POLICY SIZES, or FILE distances LARGEST");
}
