#include "flashpager_pager.h"

#include <string.h>

#define POLICY_IS(name) (FP_PAGER_POLICY == FP_PAGER_##name)
#define LOOKUP_IS(name) (FP_PAGER_LOOKUP == FP_PAGER_##name)
#define REGISTER_IS(name) (FP_PAGER_REGISTER == FP_PAGER_##name)

#define MMU LOOKUP_IS(MMU)
#define SCHEDULE_IS(name) (FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_##name)
#define SECOND_CHANCE (POLICY_IS(FIFO_SC) || POLICY_IS(PA_FIFO_SC))
/* Whether pages come in with their bit set: with a second chance it says that a page is valid. */
#define SETS_BIT (POLICY_IS(CLOCK) || POLICY_IS(PA_CLOCK) || SECOND_CHANCE)
#define WALKS (POLICY_IS(CLOCK) || POLICY_IS(PA_CLOCK) || POLICY_IS(SIEVE))
#define ORDERED (POLICY_IS(SIEVE) || POLICY_IS(LRU))
#define TWO_BUFFERS (FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER)
#define SKIPS (FP_PAGER_REGISTER <= FP_PAGER_START_COLUMN)
#define CRITICAL (FP_PAGER_CRITICAL_BYTES > 0)
/* Whether a reference to the page of the one before must be told from others. The reference bit
 * of that page is set already, and with LRU it is the first. */
#define COLLAPSES (!MMU && (POLICY_IS(SIEVE) || FP_PAGER_STATISTICS))
/* A moment that a port may want the time of: see the header of the MMU. */
#ifdef FP_PAGER_JOB_DONE
#define DONE(job) FP_PAGER_JOB_DONE(job)
#else
#define DONE(job) ((void)0)
#endif
/* The same of a frame that was looked at. */
#ifdef FP_PAGER_STEP_DONE
#define STEP_DONE() FP_PAGER_STEP_DONE()
#else
#define STEP_DONE() ((void)0)
#endif

#ifdef __GNUC__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

#if FP_PAGER_CHECKS
#define SERVING(is) (pager.serving = (is))
#else
#define SERVING(is) ((void)0)
#endif

#if FP_PAGER_STATISTICS
#define COUNT(name, more) (stat.name += (uint32_t)(more))
static struct fp_pager_stat stat;
#else
#define COUNT(name, more) ((void)0)
#endif

/* A page in a frame, with its reference bit. One number stands for no page. */
#if FP_PAGER_MOST_PAGES < 127
typedef uint8_t entry_t;
#define REFERENCED 0x80u
#elif FP_PAGER_MOST_PAGES < 32767
typedef uint16_t entry_t;
#define REFERENCED 0x8000u
#else
typedef uint32_t entry_t;
#define REFERENCED 0x80000000u
#endif
#define NO_PAGE (REFERENCED - 1u)
#define PAGE_OF(entry) ((fp_page)((entry) & NO_PAGE))

/* A frame, or a place in a list of them. */
#if FP_PAGER_MOST_FRAMES < 255
typedef uint8_t stored_frame;
typedef uint_fast8_t frame_t;
#else
typedef uint16_t stored_frame;
typedef uint_fast16_t frame_t;
#endif

#if LOOKUP_IS(HINT)
/* A byte or two a frame: the power of two above where pages take one byte, else below. */
#if FP_PAGER_MOST_PAGES < 127
#define HINTED(n) (FP_PAGER_MOST_FRAMES > (n) / 2)
#else
#define HINTED(n) (FP_PAGER_MOST_FRAMES >= (n))
#endif
#if HINTED(1024)
#define HINTS 1024u
#elif HINTED(512)
#define HINTS 512u
#elif HINTED(256)
#define HINTS 256u
#elif HINTED(128)
#define HINTS 128u
#elif HINTED(64)
#define HINTS 64u
#elif HINTED(32)
#define HINTS 32u
#elif HINTED(16)
#define HINTS 16u
#elif HINTED(8)
#define HINTS 8u
#elif HINTED(4)
#define HINTS 4u
#elif HINTED(2)
#define HINTS 2u
#else
#define HINTS 1u
#endif
#endif

/* A flash page, as it is kept. */
#ifdef FP_PAGER_SIZES_VARY
typedef uint32_t stored_flash_page;
#elif FP_PAGER_IMAGE_BYTES / FP_PAGER_FLASH_PAGE_BYTES < 32767
typedef uint16_t stored_flash_page;
#else
typedef uint32_t stored_flash_page;
#endif
#define NO_FLASH_PAGE ((stored_flash_page)-1)

/* Fields used most stand first, where short instructions reach them. They are as small as their
 * values: fast types have 4 bytes on a Cortex-M. */
static struct {
#if FP_PAGER_CURSORS > 1 && !MMU
    struct fp_cursor *open;
#endif
    int error;              /* of the last page that was not given */
    stored_flash_page held; /* in the register, or used last; NO_FLASH_PAGE */
#if TWO_BUFFERS
    stored_flash_page other; /* in the other buffer */
#endif
    uint16_t column;
#if COLLAPSES
    entry_t current; /* the page of the last reference, or NO_PAGE */
#endif
#if !POLICY_IS(LRU)
    stored_frame hand; /* a place; with a second chance the oldest frame of the ring */
#endif
    stored_frame used; /* frames that have been filled */
#if SECOND_CHANCE
    stored_frame valid_from; /* the oldest frame of valid */
    stored_frame valid;      /* how many there are */
#endif
#if TWO_BUFFERS
    uint8_t buffer;
#endif
#if POLICY_IS(RANDOM)
    uint32_t random;
#endif
#if FP_PAGER_TAG_BYTES
    uint32_t version;
#endif
#if FP_PAGER_CHECKS
    uint8_t serving; /* a fault */
#endif
#if CRITICAL
    uint8_t block;           /* that is wanted of the page that faults */
    uint8_t comes_whole;     /* the next page, as the rest of one failed */
    uint8_t rest_block;      /* what is there of the page whose rest is on its way */
    stored_frame rest_frame; /* where it goes */
    entry_t rest_page;       /* or NO_PAGE */
#endif
    entry_t entry[FP_PAGER_MOST_FRAMES]; /* by frame */
#if ORDERED
    stored_frame order[FP_PAGER_MOST_FRAMES]; /* sieve: the oldest first; lru: the newest */
#endif
#if SECOND_CHANCE
    /* All frames that have been filled, in a ring from the oldest of invalid to the newest of
     * valid: what moves down stays where it is. */
    stored_frame newer[FP_PAGER_MOST_FRAMES];
    stored_frame older[FP_PAGER_MOST_FRAMES];
#endif
#if LOOKUP_IS(TABLE)
    stored_frame table[FP_PAGER_MOST_PAGES]; /* frame + 1; 0 for none */
#elif LOOKUP_IS(HINT)
    stored_frame hint[HINTS];
#endif
} pager;

/* What is filled from flash stands by itself; with an MMU, where the port has it. */
#if !MMU
static uint8_t frames[FP_PAGER_MOST_FRAMES * 1ul * FP_PAGER_MOST_PAGE_BYTES];
#endif
#if FP_PAGER_PINNED_PAGES
static uint8_t pinned[FP_PAGER_PINNED_PAGES * 1ul * FP_PAGER_PAGE_BYTES];
#endif
#if FP_PAGER_MOST_CODEWORD_BYTES
/* A codeword that is larger than a cache page. */
#ifdef FP_PAGER_SIZES_VARY
#define WIDENS 1
#else
#define WIDENS (FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES)
#endif
#if WIDENS
static uint8_t codeword[FP_PAGER_MOST_CODEWORD_BYTES];
#endif
#define CODEWORD_BYTES FP_PAGER_CODEWORD_BYTES
#else
#define WIDENS 0
#define CODEWORD_BYTES 1u
#endif
#if FP_PAGER_BAD_BLOCKS
static fp_flash_page bad[FP_PAGER_BAD_BLOCKS]; /* ascending */
static uint_fast16_t bad_count;
#endif

/* The page of an offset in the image, and where a frame begins. An AVR shifts by one bit at a time:
 * a few shifts the other way and a byte less are faster, and so is a product, which the compiler
 * must not know to be a shift. */
#if defined(__AVR__) && FP_PAGER_MOST_PAGES <= 256 && FP_PAGER_MOST_PAGE_BYTES <= 256
#define PAGE_AT(offset) ((fp_page)((uint16_t)((offset) * (256u / FP_PAGER_PAGE_BYTES)) >> 8))
#else
#define PAGE_AT(offset) ((fp_page)((offset) / FP_PAGER_PAGE_BYTES))
#endif
#if MMU
#define BYTES_OF(frame) fp_mmu_bytes(frame)
#elif defined(__AVR_HAVE_MUL__) && FP_PAGER_MOST_FRAMES <= 255 && FP_PAGER_MOST_PAGE_BYTES <= 128
static inline uint8_t *bytes_of(uint8_t frame)
{
    uint8_t page_bytes = FP_PAGER_PAGE_BYTES;
    __asm__("" : "+r"(page_bytes));
    return frames + (uint16_t)(frame * page_bytes);
}
#define BYTES_OF(frame) bytes_of(frame)
#else
#define BYTES_OF(frame) (frames + (frame) * (size_t)FP_PAGER_PAGE_BYTES)
#endif

#if ORDERED
#define FRAME_AT(place) ((frame_t)pager.order[place])
#else
#define FRAME_AT(place) (place)
#endif

#if WALKS || POLICY_IS(FIFO)
static inline frame_t behind(frame_t place)
{
    place++;
    return place == FP_PAGER_FRAMES ? 0 : place;
}
#endif

/* Frame of a page, + 1, or 0; with LRU the page is the newest then. Found by place. */
#if POLICY_IS(LRU)
static void move_to_front(frame_t place)
{
    frame_t frame = FRAME_AT(place);
    memmove(pager.order + 1, pager.order, place * sizeof(pager.order[0]));
    pager.order[0] = (stored_frame)frame;
}
#endif

#if !MMU
static inline frame_t find(fp_page page)
{
#if LOOKUP_IS(TABLE)
    frame_t found = pager.table[page];
#else
    frame_t found = 0;
#if LOOKUP_IS(HINT)
    stored_frame *hint = &pager.hint[page % HINTS];
    if (PAGE_OF(pager.entry[*hint]) == page)
        found = (frame_t)(*hint + 1);
    else
#endif
    {
#if POLICY_IS(LRU)
        for (frame_t place = 0; place < pager.used; place++) {
            frame_t frame = FRAME_AT(place);
            if (PAGE_OF(pager.entry[frame]) == page) {
#if LOOKUP_IS(HINT)
                *hint = (stored_frame)frame;
#endif
                move_to_front(place);
                return (frame_t)(frame + 1);
            }
        }
#else
        for (frame_t frame = pager.used; frame > 0; frame--) {
            if (PAGE_OF(pager.entry[frame - 1]) == page) {
#if LOOKUP_IS(HINT)
                *hint = (stored_frame)(frame - 1);
#endif
                found = frame;
                break;
            }
        }
#endif
    }
#endif
#if POLICY_IS(LRU)
    if (found) {
        frame_t place = 0;
        while (FRAME_AT(place) != found - 1)
            place++;
        move_to_front(place);
    }
#endif
    return found;
}
#endif

#if MMU
/* A page does not fault any more, but for what of it is on its way. */
static inline void show(fp_page page, frame_t frame)
{
#if CRITICAL
    if (page == pager.rest_page) {
        fp_mmu_map_block(page, frame, pager.rest_block);
        return;
    }
#endif
    fp_mmu_map(page, frame);
}
#endif

#if SETS_BIT || WALKS
/* Set and clear a reference bit. An MMU that has none faults where it is clear. */
static inline void set_bit(frame_t frame)
{
    pager.entry[frame] |= (entry_t)REFERENCED;
#if MMU
    if (PAGE_OF(pager.entry[frame]) != NO_PAGE)
        show(PAGE_OF(pager.entry[frame]), frame);
#endif
}

static inline void clear_bit(frame_t frame)
{
    pager.entry[frame] &= (entry_t)~REFERENCED;
#if MMU
    if (PAGE_OF(pager.entry[frame]) != NO_PAGE)
        fp_mmu_invalidate(PAGE_OF(pager.entry[frame]), frame);
#endif
}
#endif

#if SECOND_CHANCE
/* Move down what valid holds above `most`. Gives how many those were. */
static inline frame_t move_down(frame_t most)
{
    frame_t moved = 0;
    for (; pager.valid > most; pager.valid--, moved++) {
        clear_bit(pager.valid_from);
        pager.valid_from = pager.newer[pager.valid_from];
    }
    return moved;
}

/* Put a frame that is in no list into the ring, as the newest. */
static inline void link_newest(frame_t frame)
{
    frame_t newest = pager.older[pager.hand];
    pager.newer[frame] = (stored_frame)pager.hand;
    pager.older[frame] = (stored_frame)newest;
    pager.newer[newest] = pager.older[pager.hand] = (stored_frame)frame;
}

/* The newest frame of the ring is of valid from now on. */
static inline void make_valid(frame_t frame)
{
    if (!pager.valid++)
        pager.valid_from = frame;
}
#endif

/* What a search did, to be undone. */
struct search {
    frame_t place; /* of the victim */
    uint_fast16_t walk;
#if SECOND_CHANCE
    frame_t moved; /* down */
#endif
#if POLICY_IS(RANDOM)
    uint32_t random;
#endif
};

/* Find the place of a victim, or of a free frame. Only reference bits are changed. */
static inline void choose(struct search *search)
{
    search->walk = 0;
    search->place = pager.used;
#if POLICY_IS(RANDOM)
    search->random = pager.random;
#endif
#if SECOND_CHANCE
    /* What comes in will be valid, too: room is made while the flash loads. */
    search->moved = move_down((frame_t)(FP_PAGER_VALID - 1u));
#endif
    if (pager.used != FP_PAGER_FRAMES)
        return;
#if POLICY_IS(FIFO) || SECOND_CHANCE
    search->place = pager.hand;
#elif WALKS
    frame_t place = pager.hand;
    for (;;) {
        search->walk++;
        STEP_DONE();
        if (!(pager.entry[FRAME_AT(place)] & REFERENCED))
            break;
#if POLICY_IS(PA_CLOCK)
        if (search->walk == FP_PAGER_WALK_BUDGET)
            break;
#endif
        clear_bit(FRAME_AT(place));
        place = behind(place);
    }
    search->place = place;
#elif POLICY_IS(LRU)
    search->place = FP_PAGER_FRAMES - 1;
#else
    uint32_t x = pager.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    search->random = x;
    /* The upper half of the product of 64 bits, by products of 32. */
    search->place = (frame_t)(((x >> 16) * (uint32_t)FP_PAGER_FRAMES +
                               ((x & 0xffffu) * (uint32_t)FP_PAGER_FRAMES >> 16)) >> 16);
#endif
}

/* Leave everything as it was before choose(). */
static inline void undo(struct search *search)
{
#if WALKS
    frame_t place = pager.hand;
    for (uint_fast16_t walk = search->walk; walk > 1; walk--) {
        set_bit(FRAME_AT(place));
        place = behind(place);
    }
#elif SECOND_CHANCE
    for (; search->moved > 0; search->moved--, pager.valid++) {
        pager.valid_from = pager.older[pager.valid_from];
        set_bit(pager.valid_from);
    }
#endif
    /* An empty frame is never referenced. */
    entry_t *entry = &pager.entry[FRAME_AT(search->place)];
    if (PAGE_OF(*entry) == NO_PAGE)
        *entry = NO_PAGE;
}

/* Nothing is in a frame any more. */
static inline void empty(frame_t frame)
{
#if LOOKUP_IS(TABLE) || MMU
    fp_page page = PAGE_OF(pager.entry[frame]);
    if (page != NO_PAGE) {
#if MMU
        fp_mmu_unmap(page);
#else
        pager.table[page] = 0;
#endif
    }
#endif
    pager.entry[frame] = NO_PAGE;
}

#if CRITICAL
/* Wait for the rest of a page, if some is on its way. Where it fails there is no page: who wants it
 * faults for all of it. */
static OUT_OF_LINE void finish_rest(void)
{
    const entry_t page = pager.rest_page;
    const frame_t frame = pager.rest_frame;
    int error;
    if (page == NO_PAGE)
        return;
    error = fp_flash_rest_wait();
    pager.rest_page = NO_PAGE;
    /* The frame may have been given away. */
    if (PAGE_OF(pager.entry[frame]) != page)
        return;
    if (error) {
        pager.comes_whole = 1;
        empty(frame);
        COUNT(retries, 1);
        return;
    }
#if SETS_BIT
    if (!(pager.entry[frame] & REFERENCED))
        return;
#endif
    fp_mmu_map(page, frame);
}
#endif

/* The page has come into the frame that was chosen. */
static inline void commit(fp_page page, const struct search *search)
{
    frame_t place = search->place;
    frame_t frame = FRAME_AT(place);
    int full = pager.used == FP_PAGER_FRAMES;
#if SETS_BIT
    pager.entry[frame] = (entry_t)(page | REFERENCED);
#else
    pager.entry[frame] = (entry_t)page;
#endif
#if SECOND_CHANCE
    /* The victim was the oldest: it is the newest where the ring begins behind it. */
    if (full)
        pager.hand = pager.newer[frame];
    else
        link_newest(frame);
    make_valid(frame);
    COUNT(downgrades, search->moved);
#endif
    if (!full)
        pager.used++;
#if POLICY_IS(SIEVE)
    else {
        /* The next newer page slips to the victim's place. */
        frame_t newest = FP_PAGER_FRAMES - 1;
        memmove(pager.order + place, pager.order + place + 1,
                (size_t)(newest - place) * sizeof(pager.order[0]));
        pager.order[newest] = (stored_frame)frame;
        pager.hand = place == newest ? 0 : place;
    }
#elif WALKS || POLICY_IS(FIFO)
    else
        pager.hand = behind(place);
#elif POLICY_IS(RANDOM)
    pager.random = search->random;
#elif POLICY_IS(LRU)
    move_to_front(place);
#endif
#if LOOKUP_IS(TABLE)
    pager.table[page] = (stored_frame)(frame + 1);
#elif LOOKUP_IS(HINT)
    pager.hint[page % HINTS] = (stored_frame)frame;
#elif MMU && (CRITICAL || !SCHEDULE_IS(PARALLEL_MMU))
    show(page, frame);
#endif
#if FP_PAGER_STATISTICS
    stat.walk += search->walk;
    if (search->walk > stat.max_walk)
        stat.max_walk = (uint32_t)search->walk;
#endif
}

/* The flash page where the image's is, behind the bad blocks before it. */
static inline fp_flash_page placed(fp_flash_page page)
{
#if FP_PAGER_BAD_BLOCKS
    fp_flash_page block = page / FP_PAGER_BLOCK_PAGES;
    fp_flash_page passed = block;
    for (uint_fast16_t i = 0; i < bad_count && bad[i] <= passed; i++)
        passed++;
    page += (fp_flash_page)((passed - block) * FP_PAGER_BLOCK_PAGES);
#endif
    return page;
}

#if FP_PAGER_TAG_BYTES
static void put_32(uint8_t *to, uint32_t value)
{
    for (uint_fast8_t i = 0; i < 4; i++, value >>= 8)
        to[i] = (uint8_t)value;
}

/* Check the tag of a unit, which begins at a column. In constant time. Out of line, as it has buffers
 * that the rest of a fetch has no use for. */
static OUT_OF_LINE int authenticate(fp_flash_page flash_page, uint_fast16_t column, const uint8_t *unit,
                        uint_fast16_t size)
{
    uint8_t head[8], tag[FP_PAGER_TAG_BYTES], right[FP_PAGER_TAG_BYTES];
    uint_fast16_t index = column / size;
    uint_fast8_t differ = 0;
    put_32(head, pager.version);
    put_32(head + 4, (uint32_t)flash_page * (FP_PAGER_FLASH_PAGE_BYTES / size) + (uint32_t)index);
    int error = fp_flash_spare(FP_PAGER_TAG_AT + index * FP_PAGER_TAG_BYTES, tag, sizeof(tag));
    if (error)
        return error;
    fp_flash_mac(head, unit, size, right);
    for (uint_fast8_t i = 0; i < FP_PAGER_TAG_BYTES; i++)
        differ |= (uint_fast8_t)(tag[i] ^ right[i]);
    return differ ? FP_PAGER_FORGED : FP_PAGER_OK;
}
#endif

#if FP_PAGER_PINNED_PAGES
#define IS_PINNED(page) ((page) < FP_PAGER_PINNED_PAGES)
#define PINNED(page) (pinned + (page) * (size_t)FP_PAGER_PAGE_BYTES)
#else
#define IS_PINNED(page) 0
#define PINNED(page) NULL
#endif

#define LAST_FLASH_PAGE                                                                          \
    ((fp_flash_page)((FP_PAGER_PAGES - 1u) / (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES)))

/* Look for a frame, once. */
#define SEARCH()                                                                                 \
    do {                                                                                         \
        if (!tries && !IS_PINNED(page))                                                          \
            choose(&search);                                                                     \
        DONE(FP_PAGER_GET_FREEFRAME);                                                            \
    } while (0)

/* Fetch a page. Gives 0 or an error. Never inlined: what it needs of registers, a hit would save
 * and restore. */
static OUT_OF_LINE int fetch(fp_page page)
{
    uint_fast8_t tries = 0;
    struct search search = {0};
    const fp_flash_page wanted =
        (fp_flash_page)(page / (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES));
    const uint_fast16_t column =
        (uint_fast16_t)(page % (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES) *
                        FP_PAGER_PAGE_BYTES);
    const uint_fast16_t start = column & (uint_fast16_t)~(CODEWORD_BYTES - 1u);
    const uint_fast16_t stop =
        (column + FP_PAGER_PAGE_BYTES + CODEWORD_BYTES - 1u) & (uint_fast16_t)~(CODEWORD_BYTES - 1u);
#if CRITICAL
    const uint_fast8_t block = pager.block;
#endif
#if FP_PAGER_STATISTICS
    const struct fp_pager_stat before = stat;
#endif
    for (;;) {
        int error = FP_PAGER_OK;
        int load = 0;
#if REGISTER_IS(DOUBLE_BUFFER_PREFETCH)
        /* What was begun ahead, unless the other buffer has what is wanted: where that failed, it is no
         * failure of this. */
        if (wanted != pager.held && fp_flash_wait() < 0)
            pager.held = pager.other = NO_FLASH_PAGE;
#endif
        if (wanted == pager.held) {
#if FP_PAGER_STATISTICS
            if (start >= pager.column)
                stat.forward++;
            else
                stat.backward++;
#endif
#if SKIPS
            load = start < pager.column;
#endif
        } else {
#if TWO_BUFFERS
            load = wanted != pager.other;
            pager.buffer ^= 1u;
            fp_flash_buffer(pager.buffer);
            pager.other = pager.held;
#if FP_PAGER_STATISTICS
            if (load)
                stat.other_page++;
            else
                stat.other_buffer++;
#endif
#else
            load = 1;
            COUNT(other_page, 1);
#endif
        }
        DONE(FP_PAGER_PRE_PROCESS);
#if SCHEDULE_IS(SEQUENTIAL)
        SEARCH();
#endif
        if (load) {
            COUNT(loads, 1);
#if REGISTER_IS(SEQUENTIAL) || TWO_BUFFERS
            pager.column = 0;
#else
            pager.column = start;
#endif
            fp_flash_load(placed(wanted), pager.column);
        }
#if !SCHEDULE_IS(SEQUENTIAL)
        SEARCH();
#endif
#if SCHEDULE_IS(PARALLEL_MMU)
        if (!tries) {
            empty(FRAME_AT(search.place));
#if CRITICAL
            fp_mmu_map_block(page, FRAME_AT(search.place), block);
#else
            fp_mmu_map(page, FRAME_AT(search.place));
#endif
            DONE(FP_PAGER_UPDATE_MMU);
        }
#endif
        if (load)
            error = fp_flash_wait();
        DONE(FP_PAGER_LOAD_STOPOVER);
        pager.held = NO_FLASH_PAGE;
#if CRITICAL
        /* The bus is in use, and a load that is tried again goes into the buffer that is fetched. */
        finish_rest();
#endif
        if (!error) {
            uint8_t *frame = PINNED(page);
            uint8_t *fetched;
            if (!IS_PINNED(page)) {
                frame_t victim = FRAME_AT(search.place);
#if !SCHEDULE_IS(PARALLEL_MMU)
                empty(victim);
#endif
                frame = BYTES_OF(victim);
            }
#if SKIPS
            if (start != pager.column)
                fp_flash_skip(start - pager.column);
            COUNT(bytes_skipped, start - pager.column);
            COUNT(bytes_fetched, start - pager.column);
#elif TWO_BUFFERS
            /* A critical block has its own. */
            if (!CRITICAL)
                fp_flash_column(start);
#else
            /* Behind a tag the column is in the spare area. */
            if (start != pager.column || (FP_PAGER_TAG_BYTES && !load)) {
                COUNT(column_changes, 1);
                fp_flash_column(start);
            }
#endif
            fetched = frame;
#if WIDENS
            if (CODEWORD_BYTES > FP_PAGER_PAGE_BYTES)
                fetched = codeword;
#endif
#if REGISTER_IS(DOUBLE_BUFFER_PREFETCH)
            if (wanted < LAST_FLASH_PAGE && pager.other != wanted + 1u) {
                COUNT(prefetches, 1);
                pager.other = wanted + 1u;
                fp_flash_load_ahead(placed(pager.other));
            }
#endif
#if CRITICAL
            const uint_fast16_t at =
                pager.comes_whole ? 0 : (uint_fast16_t)(block * FP_PAGER_CRITICAL_BYTES);
            const uint_fast16_t size =
                pager.comes_whole ? FP_PAGER_PAGE_BYTES : FP_PAGER_CRITICAL_BYTES;
            fp_flash_column(start + at);
            error = fp_flash_fetch(fetched + at, size);
            if (!error && !pager.comes_whole) {
                fp_flash_fetch_rest(frame, start, at);
                pager.rest_page = (entry_t)page;
                pager.rest_frame = (stored_frame)FRAME_AT(search.place);
                pager.rest_block = (uint8_t)block;
            }
#else
            error = fp_flash_fetch(fetched, stop - start);
#endif
            COUNT(bytes_fetched, stop - start);
#if FP_PAGER_MOST_CODEWORD_BYTES
            for (uint_fast16_t at = 0; !(error < 0) && at < stop - start; at += CODEWORD_BYTES) {
                error = fp_flash_correct(placed(wanted), start + at, fetched + at);
                COUNT(corrected, error > 0);
            }
            if (error > 0)
                error = FP_PAGER_OK;
#endif
#if FP_PAGER_TAG_BYTES
            if (!error) {
                COUNT(column_changes, REGISTER_IS(RANDOM_COLUMN));
                COUNT(bytes_fetched, FP_PAGER_TAG_BYTES);
                COUNT(tag_bytes_fetched, FP_PAGER_TAG_BYTES);
                COUNT(mac_bytes, 8 + (stop - start));
                error = authenticate(wanted, start, fetched, stop - start);
            }
#endif
#if WIDENS
            if (fetched != frame && !error)
                memcpy(frame, fetched + (column - start), FP_PAGER_PAGE_BYTES);
#endif
        }
        if (!error)
            break;
        /* Whatever the chip holds now is not believed. */
#if TWO_BUFFERS
        pager.other = NO_FLASH_PAGE;
#endif
#if FP_PAGER_STATISTICS
        {
            uint32_t retries = stat.retries, failures = stat.failures;
            stat = before;
            stat.retries = retries;
            stat.failures = failures;
        }
#endif
        if (tries++ != FP_PAGER_RETRIES) {
            COUNT(retries, 1);
            continue;
        }
        COUNT(failures, 1);
        tries = 0;
#if SCHEDULE_IS(PARALLEL_MMU)
        fp_mmu_unmap(page);
#endif
        if (!IS_PINNED(page))
            undo(&search);
        pager.error = error;
        /* All is as before, so that who does not return may fault again. */
        SERVING(0);
        error = fp_flash_failed(page, error);
        SERVING(1);
        if (error)
            return error;
    }
    DONE(FP_PAGER_TRANS_HOST_MEM);
    pager.held = wanted;
    pager.column = stop;
#if CRITICAL
    pager.comes_whole = 0;
#endif
    if (!IS_PINNED(page))
        commit(page, &search);
#if !SCHEDULE_IS(PARALLEL_MMU)
    DONE(FP_PAGER_UPDATE_MMU);
#endif
    return FP_PAGER_OK;
}

#if !MMU
/* Fetch a page and go on as with a hit. */
static OUT_OF_LINE const uint8_t *miss(fp_page page)
{
#if COLLAPSES
    /* Where it fails, or does not return: a reference by itself. */
    pager.current = NO_PAGE;
#endif
    pager.error = fetch(page);
    if (pager.error)
        return NULL;
#if COLLAPSES
    pager.current = page;
#endif
    COUNT(references, 1);
    COUNT(misses, 1);
    return fp_pager_page(page);
}

static OUT_OF_LINE const uint8_t *outside(void)
{
    pager.error = FP_PAGER_OUTSIDE;
    return NULL;
}

FP_PAGER_API const uint8_t *fp_pager_page(fp_page page)
{
    if (page >= FP_PAGER_PAGES)
        return outside();
#if FP_PAGER_PINNED_PAGES
    if (IS_PINNED(page))
        return PINNED(page);
#endif
    frame_t frame = find(page);
    if (!frame--)
        return miss(page);
#if COLLAPSES
    if (page != pager.current)
#endif
    {
#if WALKS
        entry_t *entry = &pager.entry[frame];
#if FP_PAGER_STATISTICS && !POLICY_IS(SIEVE)
        if (!(*entry & REFERENCED))
            stat.reference_bits_set++;
#endif
        *entry |= REFERENCED;
#endif
        COUNT(references, 1);
#if COLLAPSES
        pager.current = page;
#endif
    }
    return BYTES_OF(frame);
}

FP_PAGER_API int fp_pager_error(void)
{
    return pager.error;
}

FP_PAGER_API int fp_cursor_turn(struct fp_cursor *cursor)
{
    const fp_offset offset = cursor->next;
    const fp_offset within = offset & (FP_PAGER_PAGE_BYTES - 1u);
    const uint8_t *start;
#if FP_PAGER_CURSORS > 1
    if (pager.open && pager.open != cursor)
        fp_cursor_close(pager.open);
    pager.open = NULL;
#endif
    /* Where it fails, or does not return, there is no window. */
    cursor->at = cursor->end = NULL;
    if (offset >= FP_PAGER_IMAGE_BYTES)
        return FP_PAGER_OUTSIDE;
    start = fp_pager_page(PAGE_AT(offset));
    if (!start)
        return pager.error;
    cursor->at = start + within;
    cursor->end = start + FP_PAGER_PAGE_BYTES;
    cursor->next = (fp_offset)((offset | (FP_PAGER_PAGE_BYTES - 1u)) + 1u);
#if FP_PAGER_CURSORS > 1
    pager.open = cursor;
#endif
    return FP_PAGER_OK;
}

FP_PAGER_API void fp_cursor_close(struct fp_cursor *cursor)
{
    cursor->next = fp_cursor_tell(cursor);
    cursor->at = cursor->end = NULL;
#if FP_PAGER_CURSORS > 1
    if (pager.open == cursor)
        pager.open = NULL;
#endif
}

#if FP_PAGER_CURSORS > 1
FP_PAGER_API int fp_pager_read(fp_offset from, void *to, size_t size)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    uint8_t *bytes = to;
    int error = FP_PAGER_OK;
    if (from > FP_PAGER_IMAGE_BYTES || size > (size_t)(FP_PAGER_IMAGE_BYTES - from))
        return FP_PAGER_OUTSIDE;
    cursor.next = from;
    while (size > 0) {
        size_t there;
        error = fp_cursor_turn(&cursor);
        if (error)
            break;
        there = (size_t)(cursor.end - cursor.at);
        if (there > size)
            there = size;
        memcpy(bytes, cursor.at, there);
        cursor.at += there;
        bytes += there;
        size -= there;
    }
    fp_cursor_close(&cursor);
    return error;
}
#endif
#else
#if FP_PAGER_CHECKS
/* Whether lists, entries and the page table say the same. Nothing is followed before it is known to
 * be a frame. */
static int is_sound(void)
{
    unsigned long mapped = 0, held = 0;
    if (pager.used > FP_PAGER_FRAMES || pager.hand >= FP_PAGER_FRAMES)
        return 0;
#if CRITICAL
    if (pager.rest_page != NO_PAGE &&
        (pager.rest_frame >= FP_PAGER_FRAMES ||
         pager.rest_block >= FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES))
        return 0;
#endif
    for (fp_page page = 0; page < FP_PAGER_PAGES; page++) {
        const uint_fast16_t frame = fp_mmu_frame(page);
        if (frame > pager.used || (frame && PAGE_OF(pager.entry[frame - 1u]) != page))
            return 0;
        mapped += frame > 0;
    }
    for (frame_t frame = 0; frame < FP_PAGER_FRAMES; frame++)
        held += PAGE_OF(pager.entry[frame]) != NO_PAGE;
    if (held != mapped)
        return 0;
#if SECOND_CHANCE
    /* A ring of all frames that have been filled: those of invalid, then those of valid. */
    frame_t place = pager.hand;
    if (pager.valid > pager.used || (!pager.used && (place || pager.older[0])))
        return 0;
    for (frame_t i = 0; i < pager.used; i++) {
        const int is_valid = i + pager.valid >= pager.used;
        const entry_t entry = pager.entry[place];
        if ((i && place == pager.hand) || pager.newer[place] >= pager.used ||
            pager.older[pager.newer[place]] != place)
            return 0;
        if (is_valid ? !(entry & REFERENCED) && PAGE_OF(entry) != NO_PAGE
                     : (entry & REFERENCED) != 0)
            return 0;
        if (i + pager.valid == pager.used && place != pager.valid_from)
            return 0;
        place = pager.newer[place];
    }
    if (pager.used && place != pager.hand)
        return 0;
#endif
    return 1;
}
#endif

static inline int serve(fp_page page)
{
    uint_fast16_t frame = page < FP_PAGER_PAGES ? fp_mmu_frame(page) : 0;
#if CRITICAL
    if (frame && page == pager.rest_page && pager.block != pager.rest_block) {
        COUNT(rest_faults, 1);
        finish_rest();
        frame = fp_mmu_frame(page);
    }
#endif
    if (!frame--) {
        int error = page < FP_PAGER_PAGES ? fetch(page) : FP_PAGER_OUTSIDE;
        COUNT(references, !error);
        COUNT(misses, !error);
        return error;
    }
#if SETS_BIT
    if (pager.entry[frame] & REFERENCED) {
#if FP_PAGER_CHECKS
        /* If its entry does not say so, too: else it would fault for ever. */
        show(page, (frame_t)frame);
#endif
        return FP_PAGER_OK;
    }
    COUNT(references, 1);
    COUNT(false_faults, 1);
    set_bit((frame_t)frame);
#if SECOND_CHANCE
    if (frame == pager.hand) {
        pager.hand = pager.newer[frame];
    } else {
        pager.newer[pager.older[frame]] = pager.newer[frame];
        pager.older[pager.newer[frame]] = pager.older[frame];
        link_newest((frame_t)frame);
    }
    make_valid((frame_t)frame);
#if POLICY_IS(FIFO_SC)
    {
        const frame_t moved = move_down((frame_t)FP_PAGER_VALID);
        COUNT(downgrades, moved);
        (void)moved;
    }
#endif
#else
    COUNT(reference_bits_set, 1);
#endif
#elif FP_PAGER_CHECKS
    show(page, (frame_t)frame);
#endif
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_pager_fault(fp_page page)
{
#if FP_PAGER_CHECKS
    int error;
    if (pager.serving)
        return FP_PAGER_BUSY;
    if (!is_sound())
        return FP_PAGER_DAMAGED;
    SERVING(1);
    error = serve(page);
    SERVING(0);
    return error;
#else
    return serve(page);
#endif
}

#if CRITICAL
FP_PAGER_API int fp_pager_fault_at(fp_offset offset)
{
    const fp_page page = PAGE_AT(offset);
    int error;
    pager.block = (uint8_t)(offset % FP_PAGER_PAGE_BYTES / FP_PAGER_CRITICAL_BYTES);
    error = fp_pager_fault(page);
    pager.block = 0;
    return error;
}
#endif

FP_PAGER_API const uint8_t *fp_pager_peek(fp_page page)
{
    uint_fast16_t frame = page < FP_PAGER_PAGES ? fp_mmu_frame(page) : 0;
#if CRITICAL
    if (frame && page == pager.rest_page) {
        if (!fp_flash_rest_is_there())
            return NULL;
        finish_rest();
        frame = fp_mmu_frame(page);
    }
#endif
    return frame ? fp_mmu_bytes(frame - 1u) : NULL;
}
#endif

FP_PAGER_API int fp_pager_start(void)
{
    memset(&pager, 0, sizeof(pager));
#if FP_PAGER_STATISTICS
    memset(&stat, 0, sizeof(stat));
#endif
    for (frame_t frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        pager.entry[frame] = NO_PAGE;
#if ORDERED
        pager.order[frame] = (stored_frame)frame;
#endif
    }
#if COLLAPSES
    pager.current = NO_PAGE;
#endif
#if CRITICAL
    pager.rest_page = NO_PAGE;
    (void)fp_flash_rest_wait(); /* as below */
#endif
#if POLICY_IS(RANDOM)
    pager.random = FP_PAGER_SEED ? (uint32_t)FP_PAGER_SEED : 2463534242u;
#endif
#if REGISTER_IS(DOUBLE_BUFFER_PREFETCH)
    (void)fp_flash_wait(); /* what was begun before, where this is not the first start */
#endif
#if FP_PAGER_BAD_BLOCKS
    bad_count = 0;
    {
        const fp_flash_page blocks = (fp_flash_page)(
            (FP_PAGER_IMAGE_BYTES - 1ul) / ((uint32_t)FP_PAGER_FLASH_PAGE_BYTES * FP_PAGER_BLOCK_PAGES) +
            1u);
        for (fp_flash_page block = 0; block < blocks + bad_count; block++) {
            int is_bad = fp_flash_is_bad(block);
            if (is_bad < 0)
                return is_bad;
            if (is_bad) {
                if (bad_count == FP_PAGER_BAD_BLOCKS)
                    return FP_PAGER_BAD;
                bad[bad_count++] = block;
            }
        }
    }
#endif
#if FP_PAGER_TAG_BYTES
    pager.version = FP_PAGER_IMAGE_VERSION;
    if (pager.version < fp_flash_oldest())
        return FP_PAGER_OLD;
#endif
    pager.held = NO_FLASH_PAGE;
#if TWO_BUFFERS
    pager.other = NO_FLASH_PAGE;
#endif
#if FP_PAGER_PINNED_PAGES
    for (fp_page page = 0; page < FP_PAGER_PINNED_PAGES; page++) {
        int error = fetch(page);
        if (error)
            return error;
    }
    pager.held = NO_FLASH_PAGE;
#if TWO_BUFFERS
    pager.other = NO_FLASH_PAGE;
#endif
#if FP_PAGER_STATISTICS
    memset(&stat, 0, sizeof(stat));
#endif
#endif
    return FP_PAGER_OK;
}

#if FP_PAGER_STATISTICS
FP_PAGER_API const struct fp_pager_stat *fp_pager_stat(void)
{
    return &stat;
}
#endif
