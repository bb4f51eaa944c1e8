/*
 * flashpager swap store: compressed pages on RAM, PCM, MRAM or NAND flash
 *
 * A store keeps pages of memory in numbered slots. It compresses them, packs them
 * and puts them on a medium, and checks every page by a CRC when it comes back: a
 * wrong byte, of the medium or of the compressor, is FP_SWAP_CORRUPT, never data.
 *
 * The library allocates nothing, prints nothing and keeps no global state. Its
 * memory is one static array that the config names; how large that must be is a
 * macro. A store is not locked: one caller at a time.
 *
 *     static uint32_t memory[FP_SWAP_LOG_WORDS(SLOTS, BLOCKS, 4096, 2048)];
 *     static const struct fp_swap_config config = {
 *         .medium = &nand, .layout = &fp_swap_log, .compressor = &lz4,
 *         .page_bytes = 4096, .slot_count = SLOTS,
 *         .memory = memory, .memory_bytes = sizeof(memory),
 *     };
 *     static struct fp_swap store;
 *
 *     fp_swap_format(&store, &config);
 *     fp_swap_write(&store, slot, page);
 *     fp_swap_read(&store, slot, page);
 *     fp_swap_free(&store, slot);
 *
 * Two layouts stand behind this interface. fp_swap_fragments is for media that
 * rewrite in place, and follows MTDCOMPR; what it holds ends with the power.
 * fp_swap_log is for NAND; it survives power cuts. See README.md.
 */
#ifndef FLASHPAGER_SWAP_H
#define FLASHPAGER_SWAP_H

#include "../compress/flashpager_compressor.h"
#include "../medium/flashpager_medium.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return: 0, or one of these. */
enum fp_swap_error {
    FP_SWAP_OK = 0,
    FP_SWAP_EMPTY = -1,    /* the slot holds no page */
    FP_SWAP_FULL = -2,     /* no room on the medium; the slot keeps what it held */
    FP_SWAP_CORRUPT = -3,  /* the medium gave other bytes than were written */
    FP_SWAP_IO = -4,       /* the medium failed */
    FP_SWAP_NO_STORE = -5, /* mount found no store of this shape; format makes one */
    FP_SWAP_INVALID = -6,  /* a slot or a config that cannot be */
    FP_SWAP_OTHER = -7,    /* mount found a store of another version or shape */
};

struct fp_swap_layout;

/* Fragments: free space in memory, the largest chunk first, pages split where they
 * must be. For media that rewrite in place (MTDCOMPR, "Data flow"). */
extern const struct fp_swap_layout fp_swap_fragments;

/* A log: pages packed into flash pages, out of place, with garbage collection, wear
 * levelling and bad blocks. For NAND. */
extern const struct fp_swap_layout fp_swap_log;

struct fp_swap_config {
    const struct fp_medium *medium;
    const struct fp_swap_layout *layout;

    /* NULL: pages are stored as they are. */
    const struct fp_compressor *compressor;

    /* page_bytes of memory in which each page that was compressed is decompressed and compared
     * with what it was; where it differs, it is stored as it is. NULL: not checked, and a
     * compressor's mistake is found when the page is read: FP_SWAP_CORRUPT. */
    void *verify;

    /* CRC-32 (IEEE 802.3, as zlib's crc32: starts from 0, goes on from `crc`). NULL:
     * a small table; a faster one, or a device's unit, gives the same media. */
    uint32_t (*crc)(uint32_t crc, const void *data, size_t size);

    uint32_t page_bytes; /* of a page of memory: a multiple of 4, at most 32768 */
    uint32_t slot_count; /* slots are numbered from 0 */

    /* Log: erase blocks never filled with live data, at least fp_swap_log_reserve();
     * 0 is that many. More of them make collection cheaper. */
    uint32_t reserve_blocks;

    /* Fragments: free chunks of the medium that can be noted; pages are in fewer pieces
     * than that. At least slot_count + 1; half as many again let 94 % of a medium be
     * filled with pages of very different sizes. */
    uint32_t chunk_count;

    /* Aligned as a uint32_t is; FP_SWAP_LOG_WORDS or FP_SWAP_FRAGMENT_WORDS of them. */
    void *memory;
    size_t memory_bytes;
};

/* Heads of a log: the most, and of a log of so many blocks. */
#define FP_SWAP_LOG_HEADS 3u
#define FP_SWAP_LOG_HEADS_OF(blocks) ((blocks) < 64u ? 2u : FP_SWAP_LOG_HEADS)

/* Blocks that a log names for the next one of its meta stream. */
#define FP_SWAP_LOG_RESERVED 3

/* Bytes of memory for each slot, erase block and chunk. */
#define FP_SWAP_SLOT_BYTES 6u
#define FP_SWAP_BLOCK_BYTES 16u
#define FP_SWAP_CHUNK_BYTES 20u

#define FP_SWAP_WORDS_(bytes) (((size_t)(bytes) + 3u) / 4u)

/* Memory of a log: its slots, its blocks, a flash page a head and two more, and one page of
 * memory. */
#define FP_SWAP_LOG_WORDS(slots, blocks, page_bytes, program_bytes)                              \
    (FP_SWAP_WORDS_((size_t)(slots) * FP_SWAP_SLOT_BYTES) +                                      \
     FP_SWAP_WORDS_((size_t)(blocks) * FP_SWAP_BLOCK_BYTES) +                                    \
     (FP_SWAP_LOG_HEADS_OF(blocks) + 2u) * FP_SWAP_WORDS_(program_bytes) +                       \
     FP_SWAP_WORDS_(page_bytes))

/* Memory of fragments: their slots, their chunks and one page of memory. */
#define FP_SWAP_FRAGMENT_WORDS(slots, chunks, page_bytes)                                        \
    (FP_SWAP_WORDS_((size_t)(slots) * FP_SWAP_SLOT_BYTES) +                                      \
     FP_SWAP_WORDS_((size_t)(chunks) * FP_SWAP_CHUNK_BYTES) + FP_SWAP_WORDS_(page_bytes))

/* Statistics, named after zram's mm_stat. */
struct fp_swap_stat {
    uint64_t orig_data_size;  /* bytes of the pages held, as they were written */
    uint64_t compr_data_size; /* bytes of them after compression */
    uint64_t mem_used_total;  /* bytes of the medium they take, headers and all */
    uint64_t mem_limit;       /* bytes of the medium they may take */
    uint64_t mem_used_max;    /* the most they ever took */
    uint32_t pages;           /* slots that hold a page */
    uint32_t same_pages;      /* of them filled with one word: no data */
    uint32_t huge_pages;      /* of them incompressible: stored as they are */
    uint32_t lost_pages;      /* of them lost: reading gives FP_SWAP_CORRUPT */
    uint32_t bad_blocks;      /* of the medium */
    uint32_t erases;          /* since format or mount, this and the rest */
    uint64_t written_size;    /* bytes handed to the layout: compressed pages */
    uint64_t moved_size;      /* bytes that collection moved */
    uint64_t programmed_size; /* bytes programmed */
    uint16_t compr_permille;  /* compr_data_size : orig_data_size, the compressor's ratio */
    uint16_t used_permille;   /* mem_used_total : orig_data_size, what the store makes of it */
};

struct fp_swap;

/* The functions below give FP_SWAP_INVALID, false, 0 or nothing for a NULL, a slot that
 * is none and a store that was not formatted or mounted; only what never was a store is
 * undefined. `config`, and all that it names, must last as long as the store is used. */

/* Make an empty store. What the medium held is gone; a log keeps its erase counters
 * and its bad blocks. */
int fp_swap_format(struct fp_swap *store, const struct fp_swap_config *config);

/* Take up the store that the medium holds, as it was after one of the last calls
 * before the power went: all calls up to some moment are there, those after it are
 * not, and that moment is not before the last sync. Fragments: an empty store. */
int fp_swap_mount(struct fp_swap *store, const struct fp_swap_config *config);

/* Put `page` into `slot`, in place of what it held. */
int fp_swap_write(struct fp_swap *store, uint32_t slot, const void *page);

/* Get the page of `slot`. `page` is undefined unless 0 is returned. */
int fp_swap_read(struct fp_swap *store, uint32_t slot, void *page);

/*
 * Writing and reading in two steps each, for callers that lock the store. Packing and unpacking
 * take the time and use of the store only its config: they need no lock, as long as each caller
 * at a time brings a codec of its own. Putting and fetching need it.
 *
 *     fp_swap_pack(&store, &codec, slot, page, &packed);
 *     lock();
 *     error = fp_swap_put(&store, slot, &packed);
 *     unlock();
 *
 *     lock();
 *     error = fp_swap_fetch(&store, slot, codec.stage, &packed);
 *     unlock();
 *     error = error ? error : fp_swap_unpack(&store, &codec, slot, &packed, page);
 *
 * The media are those that fp_swap_write() makes.
 */
struct fp_swap_codec {
    const struct fp_compressor *compressor; /* as the config's; NULL where that is */
    void *stage;                            /* page_bytes, for a compressed page */
    void *verify;                           /* as the config's */
};

/* A page between the two steps. */
struct fp_swap_packed {
    const void *data; /* in the stage, or the page itself; not used for a same-filled one */
    uint32_t word;    /* that a same-filled page is filled with */
    uint32_t crc;
    uint16_t size; /* of the data, or a code of swap_internal.h */
};

/* Compress `page` for `slot`. `page` must stay as it is until `packed` has been put. */
int fp_swap_pack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                 const void *page, struct fp_swap_packed *packed);

/* Put a page that was packed for `slot` into it, in place of what it held. */
int fp_swap_put(struct fp_swap *store, uint32_t slot, const struct fp_swap_packed *packed);

/* Get what `slot` holds as the medium has it, with its data in `data`, of page_bytes. On an
 * error `packed` is as it was. */
int fp_swap_fetch(struct fp_swap *store, uint32_t slot, void *data,
                  struct fp_swap_packed *packed);

/* Decompress and check what was fetched of `slot`. `page` is undefined unless 0 is returned; it
 * may be where the data was fetched to if packed->size is page_bytes, and only then. */
int fp_swap_unpack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                   const struct fp_swap_packed *packed, void *page);

/* Whether a page was refused with FP_SWAP_FULL and nothing has been freed since: another one
 * would most likely be compressed only to be refused, too. A smaller page might still find
 * room, so fp_swap_write() and fp_swap_put() do not ask this; a caller that expects many writes
 * should. False for a slot that holds a page, which may use the room of that. */
bool fp_swap_is_full(const struct fp_swap *store, uint32_t slot);

/* Forget the page of `slot`; nothing where it holds none. */
int fp_swap_free(struct fp_swap *store, uint32_t slot);

/* Whether `slot` holds a page. */
bool fp_swap_holds(const struct fp_swap *store, uint32_t slot);

/* Put all that was written onto the medium, where the power may go. */
int fp_swap_sync(struct fp_swap *store);

/* Do a little of what later calls would have to: collect, level wear. 1 where there is more
 * to do, 0 where there is nothing, an error. A log only. */
int fp_swap_idle(struct fp_swap *store);

/* Erase blocks that a log of this config keeps free of live data at least; 0 where it
 * cannot be. */
uint32_t fp_swap_log_reserve(const struct fp_swap_config *config);

/* The most reads, programs and erases of the medium that one call of fp_swap_write() on a log
 * of this config takes, as long as nothing fails. */
uint32_t fp_swap_log_write_bound(const struct fp_swap_config *config);

/* All zero where nothing is mounted. */
void fp_swap_stat(const struct fp_swap *store, struct fp_swap_stat *stat);

/* How often a block has been erased, as far as the log knows; 0 for fragments. */
uint32_t fp_swap_erase_count(const struct fp_swap *store, uint32_t block);

/* Walk the whole medium and all of memory and compare them: every slot's record
 * stands where memory says, no space is lost and none used twice. NULL, or what is
 * wrong. Slow: for tests. */
const char *fp_swap_check(struct fp_swap *store);

/* The CRC-32 of 16 entries used where a config has none. */
uint32_t fp_swap_crc32(uint32_t crc, const void *data, size_t size);

/*
 * MTDCOMPR's way with NAND: bytes that can be rewritten, one erase block cached,
 * and read, erased and written back when another is wanted. The baseline that a log
 * is compared with; power cuts lose data, and nothing levels wear.
 *
 * fp_swap_rewriter_init() makes `rewriter->medium`, of the good blocks of `nand` but for
 * one in 64, for fp_swap_fragments. Those stand in for blocks that fail; when none is
 * left, the medium fails with FP_SWAP_IO and the cached block stays in memory. `block` is
 * memory of nand->block_bytes; `good` of 4 bytes a block. FP_SWAP_INVALID where the NAND has
 * no good block or lacks a function.
 */
struct fp_swap_rewriter {
    struct fp_medium medium;
    const struct fp_medium *nand;
    uint8_t *block;
    uint32_t *good;
    uint32_t spares; /* of `good`, behind the medium's blocks */
    uint32_t cached;
    bool dirty;
};

int fp_swap_rewriter_init(struct fp_swap_rewriter *rewriter, const struct fp_medium *nand,
                          uint8_t *block, uint32_t *good);

/* Write the cached block back. */
int fp_swap_rewriter_flush(struct fp_swap_rewriter *rewriter);

struct fp_swap_fragments_state {
    struct fp_swap_chunk *chunks;
    uint32_t root;
    uint32_t unused;
    uint32_t used;
    uint32_t free_bytes;
    uint32_t next;
    uint32_t turned;
    bool from_end;
};

/* A place where the log appends: a stream of records through the blocks it takes. */
struct fp_swap_log_head {
    uint8_t *page;   /* [program_bytes]: the flash page being filled */
    uint32_t fill;   /* bytes in it */
    uint32_t begun;  /* offset in the block of the first record with bytes in it */
    uint32_t record; /* the same of the last record; 0 if it began in the block before */
    uint32_t where;  /* of the last record */
    uint16_t block;  /* that is being filled */
    uint16_t before; /* the block that its first record began in */
    uint16_t pages;  /* of the block, programmed */
};

struct fp_swap_log_state {
    struct fp_swap_block *blocks;
    struct fp_swap_log_head heads[FP_SWAP_LOG_HEADS];
    struct fp_swap_log_head failed_head; /* one as it was before its page was written elsewhere */
    uint8_t *journal;       /* [program_bytes]: entries since the last commit */
    uint8_t *page;          /* [program_bytes]: scratch */
    uint32_t cached;        /* the victim's flash page that stands in it; FP_SWAP_NOWHERE */
    uint32_t entries;       /* in `journal` */
    uint32_t held;          /* of them, those that the next commit leaves out */
    uint32_t unsaved;       /* blocks whose item has changed since */
    uint32_t generation;    /* the highest of a meta block that was ever seen */
    uint32_t emitted;       /* items in chunks so far */
    uint32_t next_item;     /* where the next chunk begins */
    uint32_t link_generation;
    uint16_t link_block;    /* the meta block before this one */
    uint16_t link_pairs;    /* how many of its pairs count */
    uint16_t meta;          /* block that the meta stream goes on in */
    uint16_t meta_pairs;    /* complete ones in it */
    uint16_t confirmed;     /* the pair that confirmed it */
    uint16_t reserved[FP_SWAP_LOG_RESERVED]; /* of which the next one will be */
    uint16_t meta_blocks;   /* in use, all in all */
    uint16_t zone_end;      /* meta blocks are before this one */
    uint16_t free;          /* blocks that may be taken */
    uint16_t zone_free;     /* of them in the zone */
    uint16_t zone_freed;    /* of the next in the zone */
    uint16_t freed;         /* that may be taken after the next commit */
    uint16_t urgent;        /* blocks that must be collected */
    uint16_t victim;        /* block being collected */
    uint32_t cursor;        /* how far */
    uint32_t reserve;       /* blocks kept free of live data */
    uint32_t clock;         /* records written */
    uint32_t life;          /* of blocks of the first head: average, in records */
    uint64_t live;          /* bytes of all live records */
    bool opened;            /* a meta block, since the last look at its wear */
    bool urged;             /* the last victim was one that had to be moved */
    bool levelling;         /* what lies still is being moved, to a worn block */
    bool mounting;          /* what is free may not be, for another mount */
    bool swapping;          /* the last free block is exchanged for one with less in it */
    bool lent;              /* heads have taken what was reserved */
    bool rescuing;          /* a page that could not be programmed is being written elsewhere */
    bool unreadable;        /* some bytes of the record that was copied last */
    bool failed;            /* the medium did: nothing is believed until a mount */
};

/* A store. Its fields are the library's own. */
struct fp_swap {
    const struct fp_swap_config *config;
    uint32_t *where; /* [slot]: the layout's, FP_SWAP_NOWHERE at first */
    uint16_t *size;  /* [slot]: bytes stored, or a code of swap_internal.h */
    uint8_t *stage;  /* [page_bytes]: a compressed page on its way */
    bool refused;    /* for want of room, and nothing has been freed since */
    struct fp_swap_stat stat;
    union {
        struct fp_swap_fragments_state fragments;
        struct fp_swap_log_state log;
    } of;
};

#ifdef __cplusplus
}
#endif

#endif
