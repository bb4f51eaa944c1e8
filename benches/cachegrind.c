// The cache simulation of cachegrind over a file of line references, without Valgrind around it.
//
// benches/xip.py compiles this with cachegrind's own cg_sim.c, of Debian's source package:
//
//     cachegrind FILE WAYS LINE_BYTES SIZE,SIZE,...   one cache after another
//
// FILE holds little-endian 32-bit line numbers. Prints one line of JSON. `seconds` has the time of
// each piece of references at each size. A piece lies in the processor's first-level cache when its
// time starts, so the time excludes reading the file, waiting for memory, and creating the cache.
// cachegrind always has a second level, which sees the misses; here it is as small as possible.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Declarations that cg_sim.c expects from Valgrind.
typedef int Int;
typedef unsigned int UInt;
typedef unsigned char UChar;
typedef unsigned char Bool;
typedef char HChar;
typedef unsigned long UWord;
typedef unsigned long Addr;
typedef unsigned long long ULong;
#define False 0
#define True 1
#define VG_(name) vg_##name
typedef struct {
  Int size, assoc, line_size;
} cache_t;

static int vg_log2(UInt value) { return value ? 31 - __builtin_clz(value) : -1; }
static void *vg_malloc(const char *message, size_t bytes) {
  (void)message;
  return malloc(bytes);
}
static void vg_tool_panic(const char *message) {
  fprintf(stderr, "cachegrind: %s\n", message);
  exit(2);
}
#define vg_sprintf sprintf
#define vg_printf printf
#include CG_SIM

enum { PIECE_REFERENCES = 1 << 12 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
  if (count != 5) vg_tool_panic("FILE WAYS LINE_BYTES SIZE,SIZE,...");
  FILE *file = fopen(arguments[1], "rb");
  if (!file || fseek(file, 0, SEEK_END)) vg_tool_panic("cannot open the references");
  long references = ftell(file) / 4;
  rewind(file);
  uint32_t *lines = malloc(references * sizeof *lines);
  if (fread(lines, 4, references, file) != (size_t)references) vg_tool_panic("cannot read them");
  fclose(file);
  int ways = atoi(arguments[2]), line_bytes = atoi(arguments[3]), shift = vg_log2(line_bytes);
  static uint32_t piece[PIECE_REFERENCES];
  char *sizes = arguments[4];
  long pieces = (references + PIECE_REFERENCES - 1) / PIECE_REFERENCES, caches = 1;
  for (char *c = sizes; *c; c++) caches += *c == ',';
  double *seconds = malloc(pieces * caches * sizeof *seconds), *next = seconds;
  char *separator = "";
  printf("{\"misses\": [");
  for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ",")) {
    cache_t first_level = {atoi(size), ways, line_bytes};
    cache_t second_level = {line_bytes, 1, line_bytes};
    cachesim_initcaches(first_level, first_level, second_level);
    // cachegrind reads a tag of 0 as an empty way. So that line 0 has another tag, all addresses
    // are moved up by a multiple of the cache's size.
    ULong misses = 0, second_misses = 0;
    for (long first = 0; first < references; first += PIECE_REFERENCES) {
      long length = references - first < PIECE_REFERENCES ? references - first : PIECE_REFERENCES;
      memcpy(piece, lines + first, length * sizeof *piece);
      double start = now();
      for (long i = 0; i < length; i++) {
        cachesim_I1_doref_NoX((Addr)(piece[i] + (1ul << 30)) << shift, 1, &misses,
                              &second_misses);
      }
      *next++ = now() - start;
    }
    printf("%s%llu", separator, misses);
    separator = ", ";
  }
  printf("], \"seconds\": [");
  for (double *time = seconds; time < next; time++)
    printf("%s%.9f", time > seconds ? ", " : "", *time);
  printf("]}\n");
}
