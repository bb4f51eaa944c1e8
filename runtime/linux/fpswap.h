/* What the files of flashpager-swap.ko share. */
#ifndef FPSWAP_H
#define FPSWAP_H

#include "../swap/flashpager_swap.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/vmalloc.h>

struct crypto_comp;

/* Zeroed memory for a table, or NULL: nothing is said, and nobody ended, where there is too little. */
static inline void *fpswap_table(size_t bytes)
{
    return __vmalloc(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
}

/* ram.c: memory as a medium, populated as it is written and given back as it is freed. */
struct fpswap_ram {
    struct fp_medium medium;
    struct page **pages; /* NULL: all ones, as of an erased NAND */
    size_t count;        /* of them */
    atomic_long_t used;  /* that are there */
    long used_max;       /* the most that ever were */
};

/* `log`: with the geometry of a NAND, else in blocks of a page that are rewritten in place. */
int fpswap_ram_open(struct fpswap_ram *ram, u64 bytes, bool log);
void fpswap_ram_close(struct fpswap_ram *ram);

/* mtd.c, a module of its own: an MTD as a medium, as a NAND is one. */
struct fpswap_mtd {
    struct fp_medium medium;
    bool in_place; /* any bytes can be written at any time: program_bytes may be 1 */
    atomic64_t read_bytes;
    atomic64_t programmed_bytes;
    void (*sync)(struct fpswap_mtd *mtd);
    void (*close)(struct fpswap_mtd *mtd);
};

/* By number or name; `bytes` of it, 0: all. Says what is wrong with it. */
struct fpswap_mtd *fpswap_mtd_open(const char *name, u64 bytes);

/* codecs.c: a compressor of the kernel's for each processor. */
struct fpswap_codec {
    struct mutex lock;
    struct crypto_comp *transform;
    struct fp_compressor compressor;
    struct fp_swap_codec codec;
    struct fp_swap_packed packed; /* the page on its way: stacks are small */
};

/* NULL and "none" store pages as they are. */
struct fpswap_codec __percpu *fpswap_codecs_open(const char *compressor);
void fpswap_codecs_close(struct fpswap_codec __percpu *codecs);

/* A codec, this processor's if it is not at work. Sleeps. */
struct fpswap_codec *fpswap_codec_take(struct fpswap_codec __percpu *codecs);
void fpswap_codec_give(struct fpswap_codec *codec);

#endif
