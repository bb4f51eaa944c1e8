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

/* Return values of functions: 0, or one of these. */
enum fp_swap_error {
    FP_SWAP_OK = 0,
    FP_SWAP_EMPTY = -1,    /* the slot holds no page */
    FP_SWAP_FULL = -2,     /* the medium has no space; the slot still holds its old page */
    FP_SWAP_CORRUPT = -3,  /* the medium gave other bytes than were written */
    FP_SWAP_IO = -4,       /* the medium failed */
    FP_SWAP_NO_STORE = -5, /* mount: there is no store, of any version or shape */
    FP_SWAP_INVALID = -6,  /* no such slot, or an impossible config */
    FP_SWAP_OTHER = -7,    /* mount: there is a store of another version or shape */
    FP_SWAP_SMALL = -8,    /* format: too few good blocks; see fp_swap_log_blocks() */
};

struct fp_swap_layout;

/* Fragments, for media that rewrite in place (MTDCOMPR, "Data flow"): the free space is kept in
 * memory, the largest chunk is used first, and pages are split if they must be. */
extern const struct fp_swap_layout fp_swap_fragments;

/* A log, for NAND: pages are packed into flash pages, out of place, with garbage collection, wear
 * levelling and bad-block handling. */
extern const struct fp_swap_layout fp_swap_log;

struct fp_swap_config {
    const struct fp_medium *medium;
    const struct fp_swap_layout *layout;

    /* NULL stores pages uncompressed. */
    const struct fp_compressor *compressor;

    /* page_bytes of memory in which each compressed page is decompressed and compared. If it
     * differs, it is stored uncompressed. NULL skips the check: a compressor's mistake then shows
     * when the page is read, as FP_SWAP_CORRUPT. */
    void *verify;

    /* CRC-32 (IEEE 802.3, like zlib's crc32: it starts from 0 and continues `crc`). NULL uses a
     * small table. A faster function or a device's unit gives the same media. A mount refuses
     * another function with FP_SWAP_INVALID. */
    uint32_t (*crc)(uint32_t crc, const void *data, size_t size);

    uint32_t page_bytes; /* of a page of memory: a multiple of 4, at most 32768 */
    uint32_t slot_count; /* number of slots; they are numbered from 0 */

    /* Log: erase blocks that are never filled with live data; at least fp_swap_log_reserve(), which
     * 0 stands for. More of them make collection cheaper. */
    uint32_t reserve_blocks;

    /* Fragments: most free chunks that can be tracked; pages have fewer pieces than that. At least
     * slot_count + 1. With half as many again, 94 % of a medium can be filled with pages of very
     * different sizes. */
    uint32_t chunk_count;

    /* FP_SWAP_LOG_WORDS or FP_SWAP_FRAGMENT_WORDS words, aligned like a uint32_t. */
    void *memory;
    size_t memory_bytes;
};

/* Heads of a log: the most, and those of a log with so many blocks. */
#define FP_SWAP_LOG_HEADS 3u
#define FP_SWAP_LOG_HEADS_OF(blocks) ((blocks) < 64u ? 2u : FP_SWAP_LOG_HEADS)

/* Blocks that a log reserves for the next block of its meta stream. */
#define FP_SWAP_LOG_RESERVED 3

/* Bytes of memory for each slot, erase block and chunk. */
#define FP_SWAP_SLOT_BYTES 6u
#define FP_SWAP_BLOCK_BYTES 16u
#define FP_SWAP_CHUNK_BYTES 20u

#define FP_SWAP_WORDS_(bytes) (((size_t)(bytes) + 3u) / 4u)

/* Memory of a log: its slots, its blocks, a flash page for each head and two more, and one page of
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
    uint64_t orig_data_size;  /* uncompressed bytes of the pages held */
    uint64_t compr_data_size; /* compressed bytes of the pages held */
    uint64_t mem_used_total;  /* bytes of the medium in use, headers included */
    uint64_t mem_limit;       /* bytes of the medium that can be used */
    uint64_t mem_used_max;    /* the most bytes that were ever in use */
    uint32_t pages;           /* slots that hold a page */
    uint32_t same_pages;      /* pages filled with one repeated word */
    uint32_t huge_pages;      /* incompressible pages, stored uncompressed */
    uint32_t lost_pages;      /* lost pages: reading one gives FP_SWAP_CORRUPT */
    uint32_t bad_blocks;      /* bad blocks of the medium */
    uint32_t erases;          /* erasures; this and the rest count since format or mount */
    uint64_t written_size;    /* compressed bytes handed to the layout */
    uint64_t moved_size;      /* bytes moved by garbage collection */
    uint64_t programmed_size; /* bytes programmed by the layout */
    uint16_t compr_permille;  /* compr_data_size / orig_data_size, the compressor's ratio */
    uint16_t used_permille;   /* mem_used_total / orig_data_size, the store's ratio */
};

/* All that a store on a medium depends on. A config that differs in any of these cannot mount it. */
struct fp_swap_shape {
    uint32_t version;       /* of the format on the medium */
    uint32_t program_bytes; /* these three are the medium's */
    uint32_t block_bytes;
    uint32_t block_count;
    uint32_t page_bytes;
    uint32_t slot_count;
    char compressor[FP_COMPRESSOR_NAME + 1u]; /* its name; empty if pages are uncompressed */
};

struct fp_swap;

/* The functions below return FP_SWAP_INVALID, false, 0 or nothing for NULL, for a slot that does
 * not exist, and for a store that was not formatted or mounted. Memory that never was a store is
 * undefined behaviour. `config`, and all it points to, must live as long as the store is used. */

/* Makes an empty store. The old content of the medium is lost; a log keeps its erase counters and
 * its bad blocks. If the power is lost meanwhile, the next mount finds the old store, whole, or the
 * empty one, and never anything between. Besides the errors of other calls:
 *
 *     FP_SWAP_SMALL  the medium cannot store a page, and is as before: it needs
 *                    fp_swap_log_blocks() good blocks
 *     FP_SWAP_FULL   all blocks failed
 */
int fp_swap_format(struct fp_swap *store, const struct fp_swap_config *config);

/*
 * Mounts the store that the medium holds, as it was after one of the last calls before the power
 * was lost: all calls up to some moment are there, later ones are not, and that moment is not
 * before the last sync. Fragments: makes an empty store. If it cannot:
 *
 *     FP_SWAP_NO_STORE  The medium was read, and holds no store that any config could mount. A
 *                       program may format it. (So it is after a first format that was cut.)
 *     FP_SWAP_OTHER     It holds a store, which fp_swap_other() describes. Mount it with the config
 *                       it was made with. Only a person should decide to format it.
 *     FP_SWAP_IO        It could not be read. Mount again later: nothing is known of it.
 *     FP_SWAP_FULL      It holds a store, but so many blocks are bad that not even a mount has room.
 *     FP_SWAP_INVALID   The config is impossible, or its crc() is not CRC-32.
 *
 * NO_STORE, OTHER and INVALID leave the medium as it is.
 */
int fp_swap_mount(struct fp_swap *store, const struct fp_swap_config *config);

/* Returns the shape of the store that a mount refused with FP_SWAP_OTHER, until the next mount or
 * format; else NULL. Of versions before 4, only the version is known and the rest is 0. */
const struct fp_swap_shape *fp_swap_other(const struct fp_swap *store);

/* Fills in the shape of a config's store. */
void fp_swap_shape(const struct fp_swap_config *config, struct fp_swap_shape *shape);

/* Writes `page` to `slot`, replacing the page there. */
int fp_swap_write(struct fp_swap *store, uint32_t slot, const void *page);

/* Reads the page of `slot`. `page` is undefined unless 0 is returned. */
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
    const struct fp_compressor *compressor; /* as in the config */
    void *stage;                            /* page_bytes, for a compressed page */
    void *verify;                           /* as in the config */
};

/* A page between the two steps. */
struct fp_swap_packed {
    const void *data; /* in the stage, or the page itself; unused for a same-filled page */
    uint32_t word;    /* the word of a same-filled page */
    uint32_t crc;
    uint16_t size; /* bytes of the data, or a code of swap_internal.h */
};

/* Compresses `page` for `slot`. `page` must not change until `packed` has been put. */
int fp_swap_pack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                 const void *page, struct fp_swap_packed *packed);

/* Writes a page that was packed for `slot`, replacing the page there. */
int fp_swap_put(struct fp_swap *store, uint32_t slot, const struct fp_swap_packed *packed);

/* Reads what the medium has for `slot`, with its data in `data`, of page_bytes. On an error
 * `packed` does not change. */
int fp_swap_fetch(struct fp_swap *store, uint32_t slot, void *data,
                  struct fp_swap_packed *packed);

/* Decompresses and checks what was fetched for `slot`. `page` is undefined unless 0 is returned. It
 * may be the buffer of the fetched data only if packed->size is page_bytes. */
int fp_swap_unpack(const struct fp_swap *store, const struct fp_swap_codec *codec, uint32_t slot,
                   const struct fp_swap_packed *packed, void *page);

/* Returns true if a page was refused with FP_SWAP_FULL and nothing has been freed since. Another
 * page would then most likely be compressed only to be refused. A smaller page might still fit, so
 * fp_swap_write() and fp_swap_put() do not check this; a caller that expects many writes should.
 * False for a slot that holds a page, whose space may be used. */
bool fp_swap_is_full(const struct fp_swap *store, uint32_t slot);

/* Returns true if the medium failed for good. Until the next mount all writes are refused with
 * FP_SWAP_IO, by fp_swap_write() before it compresses; a caller of fp_swap_pack() should ask
 * first. */
bool fp_swap_has_failed(const struct fp_swap *store);

/* Frees `slot`. A slot without a page stays as it is. */
int fp_swap_free(struct fp_swap *store, uint32_t slot);

/* Returns true if `slot` holds a page. */
bool fp_swap_holds(const struct fp_swap *store, uint32_t slot);

/* Puts all that was written onto the medium, so that it survives a loss of power. */
int fp_swap_sync(struct fp_swap *store);

/* Does a little of the work that later calls would have to do: collection, wear levelling. Returns
 * 1 if there is more, 0 if there is not, or an error. Only a log has such work. */
int fp_swap_idle(struct fp_swap *store);

/* Returns the fewest erase blocks that a log of this config keeps free of live data, or 0 if no log
 * is possible. */
uint32_t fp_swap_log_reserve(const struct fp_swap_config *config);

/* Returns the fewest good blocks that fp_swap_format() takes for a log of this config, or 0 if no
 * log is possible. */
uint32_t fp_swap_log_blocks(const struct fp_swap_config *config);

/* Returns the most reads, programs and erases of the medium that one fp_swap_write() on a log of
 * this config takes, as long as nothing fails. */
uint32_t fp_swap_log_write_bound(const struct fp_swap_config *config);

/* Fills in the statistics; all zero if nothing is mounted. */
void fp_swap_stat(const struct fp_swap *store, struct fp_swap_stat *stat);

/* Returns how often a block has been erased, as far as the log knows; 0 for fragments. */
uint32_t fp_swap_erase_count(const struct fp_swap *store, uint32_t block);

/* Compares the whole medium with memory: every slot's record is where memory says, and no space is
 * lost or used twice. Returns NULL, or what is wrong. Slow, for tests. */
const char *fp_swap_check(struct fp_swap *store);

/* The CRC-32 with a table of 16 entries, used if a config has none. */
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
    uint32_t spares; /* entries of `good` that follow the medium's blocks */
    uint32_t cached;
    bool dirty;
};

int fp_swap_rewriter_init(struct fp_swap_rewriter *rewriter, const struct fp_medium *nand,
                          uint8_t *block, uint32_t *good);

/* Writes the cached block back. */
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

/* A head: a place where the log appends, as a stream of records through the blocks it takes. */
struct fp_swap_log_head {
    uint8_t *page;     /* [program_bytes]: the flash page that is being filled */
    uint32_t fill;     /* bytes in it */
    uint32_t begun;    /* offset in the block of the first record with bytes in the page */
    uint32_t record;   /* offset of the last record; 0 if it began in the block before */
    uint32_t location; /* of the last record */
    uint16_t block;    /* the block that is being filled */
    uint16_t before;   /* the block in which its first record began */
    uint16_t pages;    /* programmed pages of the block */
};

struct fp_swap_log_state {
    struct fp_swap_block *blocks;
    struct fp_swap_log_head heads[FP_SWAP_LOG_HEADS];
    /* a head as it was before its page was written to another block */
    struct fp_swap_log_head failed_head;
    uint8_t *journal;       /* [program_bytes]: entries since the last commit */
    uint8_t *page;          /* [program_bytes]: scratch */
    uint32_t cached;        /* the victim's flash page that is in it; FP_SWAP_NOWHERE */
    uint32_t entries;       /* entries in `journal` */
    uint32_t held;          /* entries that the next commit leaves out */
    uint32_t unsaved;       /* blocks whose item has changed since the last commit */
    uint32_t generation;    /* the highest generation of a meta block ever seen */
    uint32_t emitted;       /* items in chunks so far */
    uint32_t next_item;     /* first item of the next chunk */
    uint32_t link_generation;
    uint16_t link_block;    /* the previous meta block */
    uint16_t link_pairs;    /* how many of its pairs count */
    uint16_t meta;          /* the current block of the meta stream */
    uint16_t meta_pairs;    /* complete pairs in it */
    uint16_t confirmed;     /* the pair that confirmed it */
    uint16_t reserved[FP_SWAP_LOG_RESERVED]; /* blocks of which the next one will be */
    uint16_t meta_blocks;   /* meta blocks in use */
    uint16_t zone_end;      /* all meta blocks are before this one */
    uint16_t free;          /* free blocks */
    uint16_t zone_free;     /* free blocks in the zone */
    uint16_t zone_freed;    /* blocks in the zone that the next commit frees */
    uint16_t freed;         /* blocks that the next commit frees */
    uint16_t urgent;        /* blocks that must be collected */
    uint16_t victim;        /* block being collected */
    uint32_t cursor;        /* position in it */
    uint32_t reserve;       /* blocks kept free of live data */
    uint32_t clock;         /* records written */
    uint32_t life;          /* mean life of blocks of the first head, in records */
    uint64_t live;          /* bytes of all live records */
    bool opened;            /* a meta block was opened since wear was last compared */
    bool urged;             /* the last victim had to be moved */
    bool levelling;         /* unchanging data is being moved to a worn block */
    bool wide;              /* the zone is the whole medium, while a store is searched for */
    bool mounting;          /* during a mount: a free block may not be free for another mount */
    bool swapping;          /* the last free block is exchanged for one with less in it */
    bool lent;              /* heads have taken reserved blocks */
    /* a page that could not be programmed is being written to another block */
    bool rescuing;
    bool unreadable;        /* some bytes of the last copied record were unreadable */
    bool failed;            /* the medium failed: nothing is trusted until a mount */
};

/* A store. Its fields are private to the library. */
struct fp_swap {
    const struct fp_swap_config *config;
    uint32_t *location; /* [slot]: of its record, as the layout defines it; FP_SWAP_NOWHERE at first */
    uint16_t *size;     /* [slot]: bytes stored, or a code of swap_internal.h */
    uint8_t *stage;     /* [page_bytes]: a compressed page in progress */
    bool refused;       /* a page was refused for lack of space, and nothing has been freed since */
    struct fp_swap_stat stat;
    struct fp_swap_shape other; /* fp_swap_other(); version 0 for none */
    union {
        struct fp_swap_fragments_state fragments;
        struct fp_swap_log_state log;
    } of;
};

#ifdef __cplusplus
}
#endif

#endif
