/*
 * An emulated medium: NAND, or bytes that rewrite in place, in memory or in a file.
 *
 * It counts its operations, wears out, has bad blocks and bit errors, and loses power
 * in the middle of a program or an erase. Operations that no chip allows abort the
 * process with a line on stderr: a flash page programmed twice or out of order, an
 * access outside, a program or an erase of a bad block, a program of a block after a
 * failure and before its next erasure. A flash page whose program
 * lost power has been programmed, and a block whose erasure did is not erased,
 * however they look. For hosts: it allocates and prints.
 */
#ifndef FLASHPAGER_EMULATED_H
#define FLASHPAGER_EMULATED_H

#include "flashpager_medium.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a power cut leaves of the program or the erase that it hits. */
enum fp_emulated_cut {
    FP_EMULATED_CUT_BEFORE, /* nothing was done */
    FP_EMULATED_CUT_TORN,   /* a part was done: some bytes, some bits */
    FP_EMULATED_CUT_AFTER,  /* all was done, without an answer */
};

struct fp_emulated_config {
    uint32_t program_bytes; /* of a flash page; 1 if the medium rewrites in place */
    uint32_t block_bytes;
    uint32_t block_count;
    const char *path;          /* file that holds the bytes; NULL for memory */
    uint64_t seed;             /* seed of the random numbers; a file continues with its own */
    uint32_t factory_bad;      /* blocks that are bad from the start */
    /* wear of a block after which its erasures (programs, if bytes rewrite in place) fail more and
     * more; 0 for never */
    uint32_t endurance_cycles;
    /* programs in a million that fail, leaving anything in their flash page */
    uint32_t program_fail_ppm;
    /* erasures in a million that fail, leaving anything in their block */
    uint32_t erase_fail_ppm;
    uint32_t corrected_ppm;    /* reads in a million that return FP_MEDIUM_CORRECTED */
};

/* Counts of a medium's operations. */
struct fp_emulated_counters {
    uint64_t reads;         /* calls of read() */
    uint64_t loads;         /* loads of another flash page into the data register */
    uint64_t columns;       /* column changes within the loaded flash page */
    uint64_t read_bytes;
    uint64_t programs;      /* calls of program(): flash pages, or byte ranges rewritten in place */
    uint64_t program_bytes;
    uint64_t erases;
};

struct fp_emulated;

/* Opens a medium. A new or empty file becomes an erased medium (0xff). An existing one is continued
 * as it was left, with its wear and bad blocks. Returns NULL with errno: EINVAL for an impossible
 * config, EEXIST for a file that does not hold a medium of this shape. */
struct fp_emulated *fp_emulated_open(const struct fp_emulated_config *config);
void fp_emulated_close(struct fp_emulated *medium);

/* Returns the callbacks, for a store. They are valid until the medium is closed. */
const struct fp_medium *fp_emulated_medium(struct fp_emulated *medium);

void fp_emulated_counters(const struct fp_emulated *medium, struct fp_emulated_counters *counters);

/* Returns the erasures of a block. For media that rewrite in place: bytes rewritten in it over its
 * size, rounded down. */
uint32_t fp_emulated_wear(const struct fp_emulated *medium, uint32_t block);
bool fp_emulated_is_bad(const struct fp_emulated *medium, uint32_t block);

/* Cuts the power in the `after`-th program, erase or mark_bad from now (1: the next one). Every
 * call then fails with FP_MEDIUM_IO until the power is back. 0: no cut. */
void fp_emulated_cut_power(struct fp_emulated *medium, uint64_t after, enum fp_emulated_cut how);
bool fp_emulated_is_off(const struct fp_emulated *medium);
void fp_emulated_power_on(struct fp_emulated *medium);

/* Returns the bytes, block after block, for tests that flip bits. */
uint8_t *fp_emulated_bytes(struct fp_emulated *medium);

#ifdef __cplusplus
}
#endif

#endif
