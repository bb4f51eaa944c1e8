/* Media and compressors of flashpager-swap.ko. */
#ifndef FPSWAP_H
#define FPSWAP_H

#include "../swap/flashpager_swap.h"
#include "compat.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/vmalloc.h>

/* Returns zeroed memory for a table, or NULL if there is too little: without a message, and without
 * ending a process. */
static inline void *fpswap_table(size_t bytes)
{
    return __vmalloc(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
}

/* ram.c: memory as a medium. It is allocated as it is written and released as it is freed. */
struct fpswap_ram {
    struct fp_medium medium;
    struct page **pages; /* NULL for a page of ones, like erased NAND */
    size_t count;        /* entries of `pages` */
    atomic_long_t used;  /* pages allocated */
    long used_max;       /* the most that ever were allocated */
};

/* Opens `bytes` of memory. With `log` it has the geometry of NAND, otherwise blocks of a page that
 * are rewritten in place. */
int fpswap_ram_open(struct fpswap_ram *ram, u64 bytes, bool log);
void fpswap_ram_close(struct fpswap_ram *ram);

/* mtd.c, a module of its own: an MTD as a medium. */
struct fpswap_mtd {
    struct fp_medium medium;
    bool in_place; /* any bytes can be written at any time, so program_bytes may be 1 */
    atomic64_t read_bytes;
    atomic64_t programmed_bytes;
    void (*sync)(struct fpswap_mtd *mtd);
    void (*close)(struct fpswap_mtd *mtd);
};

/* Opens an MTD by number or name; `bytes` of it, or all if that is 0. Logs what is wrong with it.
 */
struct fpswap_mtd *fpswap_mtd_open(const char *name, u64 bytes);

/* codecs.c: a compressor of the kernel for each processor. */
struct fpswap_codec {
    struct mutex lock;
    fpswap_transform *transform;
    struct fp_compressor compressor;
    char format[FP_COMPRESSOR_NAME + 1];
    struct fp_swap_codec codec;
    struct fp_swap_packed packed; /* the page in progress; a stack is too small for it */
};

/* Opens a compressor by name. NULL and "none" store pages uncompressed. */
struct fpswap_codec __percpu *fpswap_codecs_open(const char *compressor);
void fpswap_codecs_close(struct fpswap_codec __percpu *codecs);

/* Returns a codec: this processor's if it is free. May sleep. */
struct fpswap_codec *fpswap_codec_take(struct fpswap_codec __percpu *codecs);
void fpswap_codec_give(struct fpswap_codec *codec);

#endif
