/*
 * The engine of overlays: finds or loads a function that is called, or returned to
 *
 * See flashpager_overlay.h; overlay_cortex_m.S handles calls and returns that find their function. Slot 0 is no
 * function: it is the end of the list of functions in the heap, which is circular and ordered by address.
 */
#include <stddef.h>

#include "flashpager_overlay.h"

#define ABSENT 0xffffu   /* the place of a function that is not in the heap */
#define LAST_USE 0xffffu /* the highest number of a use */

/* The kinds of slots, in place of a function's bytes. */
#define SLOT_DIRECT 0u /* a resident function that never comes to paged code: a jump */
#define SLOT_GATE 1u   /* a resident function that may come to paged code */

/* Instructions of a slot: `mov ip, pc` and `b.n` to the nearest hub before, or `ldr.w pc, [pc]`. The first slot of
 * every HUB_SLOTS is the hub of paged functions, a jump to the engine, and the second one that of gates. */
#define MOV_IP_PC 0x46fcu
#define BRANCH 0xe000u
#define LOAD_PC 0xf000f8dfu
#define HUB_SLOTS 250u

union target {
    uint32_t address; /* of a jump or a gate */
    struct {
        uint16_t place; /* offset in the heap in words, or ABSENT */
        uint16_t last;  /* the number of the last use */
    } function;
};

struct slot {
    uint32_t code;
    union target u;
};

/* An entry of the directory, in constant memory. */
struct entry {
    uint32_t at;    /* offset in the image; of resident functions the address */
    uint16_t bytes; /* a multiple of 4; below 4 it is a kind of slot */
    uint16_t site;  /* halfword of the first call in it, or ABSENT */
};

extern const struct entry fp_overlay_directory[FP_OVERLAY_SLOTS];
extern const uint32_t fp_overlay_image[2];
void fp_overlay_enter(void);
void fp_overlay_gate(void);

/* Functions for overlay_cortex_m.S. */
void fp_overlay_reference(const union target *target);
_Noreturn void fp_overlay_too_deep(const union target *caller);

/* Slots, the heap and the state have names, so that a debugger and `flashpager overlay` find them. */
struct slot fp_overlay_slots[FP_OVERLAY_SLOTS] __attribute__((aligned(8)));
uint8_t fp_overlay_heap[FP_OVERLAY_HEAP_BYTES] __attribute__((aligned(8)));

/* A call from paged code that is open. */
struct frame {
    uint32_t offset; /* of the instruction to return to, in the caller */
    union target *caller;
};

/* overlay_cortex_m.S knows the offsets of these. */
struct state {
    uint32_t heap;         /* the address of the heap, with the bit of Thumb */
    union target *current; /* the paged function that ran last */
    struct frame *top;     /* the first unused frame */
    uint32_t uses;         /* the number of the last use */
#if FP_OVERLAY_STATISTICS
    struct fp_overlay_stat stat;
#endif
};

_Static_assert(offsetof(struct state, current) == 4, "overlay_cortex_m.S has these offsets");
_Static_assert(offsetof(struct state, top) == 8, "overlay_cortex_m.S has these offsets");
_Static_assert(offsetof(struct state, uses) == 12, "overlay_cortex_m.S has these offsets");

struct {
    struct frame frames[FP_OVERLAY_DEPTH];
    struct state state;
} fp_overlay_memory;

static struct {
    uint16_t next[FP_OVERLAY_SLOTS]; /* the function behind in the heap; 0 behind the last */
    uint16_t newest;                 /* the function that was loaded last */
} heap;

#define state fp_overlay_memory.state
#if FP_OVERLAY_STATISTICS
#define COUNT(name, by) (state.stat.name += (by))

const struct fp_overlay_stat *fp_overlay_stat(void)
{
    return &state.stat;
}
#else
#define COUNT(name, by) ((void)0)
#endif

static uint32_t overlay_begin_of(unsigned function)
{
    return 4u * fp_overlay_slots[function].u.function.place;
}

/* Returns the end of a function in the heap; 0 for slot 0. */
static uint32_t overlay_end_of(unsigned function)
{
    return function ? overlay_begin_of(function) + fp_overlay_directory[function].bytes : 0;
}

#if FP_OVERLAY_POLICY == FP_OVERLAY_FIFO_RING
static void overlay_note_use(unsigned function)
{
    (void)function;
}

/* Returns the function behind which `bytes` bytes are to be loaded. */
static unsigned overlay_place_behind(uint32_t bytes)
{
    return overlay_end_of(heap.newest) + bytes > FP_OVERLAY_HEAP_BYTES ? 0 : heap.newest;
}
#else
/* Numbers the uses of all functions in the heap anew, from 1 on, in the same order. */
static void overlay_renumber_uses(void)
{
    unsigned number = 1;
    for (;;) {
        unsigned least = 0;
        for (unsigned at = heap.next[0]; at; at = heap.next[at]) {
            const unsigned last = fp_overlay_slots[at].u.function.last;
            if (last >= number && (!least || last < fp_overlay_slots[least].u.function.last))
                least = at;
        }
        if (!least)
            break;
        fp_overlay_slots[least].u.function.last = (uint16_t)number++;
    }
    state.uses = number - 1;
}

static void overlay_note_use(unsigned function)
{
    if (state.uses == LAST_USE)
        overlay_renumber_uses();
    fp_overlay_slots[function].u.function.last = (uint16_t)++state.uses;
}

static unsigned overlay_place_behind(uint32_t bytes)
{
    unsigned best = 0, behind = 0;
    uint32_t best_age = UINT32_MAX, best_evicted = 0;
    do {
        const uint32_t place = overlay_end_of(behind);
        if (place + bytes > FP_OVERLAY_HEAP_BYTES)
            break;
        uint32_t age = 0, evicted = 0;
        /* The search ends early for a place that is worse than the best one. */
        for (unsigned at = heap.next[behind];
             at && age <= best_age && overlay_begin_of(at) < place + bytes; at = heap.next[at]) {
            const uint32_t last = fp_overlay_slots[at].u.function.last;
            age = last > age ? last : age;
            evicted += fp_overlay_directory[at].bytes;
        }
        if (age < best_age || (age == best_age && evicted < best_evicted)) {
            best = behind;
            best_age = age;
            best_evicted = evicted;
        }
        behind = heap.next[behind];
    } while (behind);
    return best;
}
#endif

/* Encodes the calls of a function in the heap. In the image, a call is the number of its slot, and the distance
 * in halfwords to the next call; the highest bit is set for `bl`, and clear for `b.w`. */
static void overlay_link_calls(uint16_t *body, uint32_t site)
{
    if (site == ABSENT)
        return;
    for (;;) {
        uint16_t *at = body + site;
        const uint32_t link = at[1];
        const uint32_t distance = (uint32_t)(uintptr_t)&fp_overlay_slots[at[0]] - (uint32_t)(uintptr_t)at - 4;
        at[0] = (uint16_t)(0xf000u | (distance >> 12 & 0x7ffu));
        at[1] = (uint16_t)(0xb800u | (link >> 1 & 0x4000u) | (distance >> 1 & 0x7ffu));
        if (!(link & 0x7fffu))
            return;
        site += link & 0x7fffu;
    }
}

static void overlay_load(unsigned function)
{
    const struct entry *entry = &fp_overlay_directory[function];
    const unsigned behind = overlay_place_behind(entry->bytes);
    const uint32_t place = overlay_end_of(behind);
    unsigned at = heap.next[behind];
    while (at && overlay_begin_of(at) < place + entry->bytes) {
        fp_overlay_slots[at].u.function.place = ABSENT;
        at = heap.next[at];
    }
    if (fp_overlay_read(entry->at, fp_overlay_heap + place, entry->bytes))
        fp_overlay_failed(FP_OVERLAY_IO, function);
    overlay_link_calls((uint16_t *)(void *)(fp_overlay_heap + place), entry->site);
    heap.next[behind] = (uint16_t)function;
    heap.next[function] = (uint16_t)at;
    fp_overlay_slots[function].u.function.place = (uint16_t)(place / 4);
#if FP_OVERLAY_POLICY == FP_OVERLAY_FIFO_RING
    heap.newest = (uint16_t)function;
#endif
    COUNT(loads, 1);
    COUNT(bytes, entry->bytes);
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

static unsigned overlay_number_of(const union target *target)
{
    return ((uint32_t)(uintptr_t)target - (uint32_t)(uintptr_t)fp_overlay_slots) / sizeof(struct slot);
}

/* Handles a call of a function, or a return to it, that is not in the heap or has the highest number of a use. */
void fp_overlay_reference(const union target *target)
{
    const unsigned function = overlay_number_of(target);
    if (target->function.place == ABSENT)
        overlay_load(function);
    overlay_note_use(function);
    state.current = &fp_overlay_slots[function].u;
}

_Noreturn void fp_overlay_too_deep(const union target *caller)
{
    fp_overlay_failed(FP_OVERLAY_TOO_DEEP, overlay_number_of(caller));
}

int fp_overlay_start(void)
{
    uint32_t identity;
    for (unsigned i = 0; i < FP_OVERLAY_SLOTS; i++) {
        const struct entry *entry = &fp_overlay_directory[i];
        struct slot *slot = &fp_overlay_slots[i];
        const unsigned group = i % HUB_SLOTS;
        const unsigned hub = entry->bytes == SLOT_GATE;
        slot->u.address = entry->at;
        if (group == 0)
            slot->u.address = (uint32_t)(uintptr_t)fp_overlay_enter;
        else if (group == 1)
            slot->u.address = (uint32_t)(uintptr_t)fp_overlay_gate;
        else if (entry->bytes >= 4)
            slot->u.function.place = ABSENT;
        /* The branch is the second halfword of the slot, and its offset counts from 4 bytes behind. */
        const uint32_t branch = BRANCH | ((0u - 6u - 8u * (group - hub)) >> 1 & 0x7ffu);
        const int is_jump = group < 2 || entry->bytes == SLOT_DIRECT;
        slot->code = is_jump ? LOAD_PC : MOV_IP_PC | branch << 16;
        heap.next[i] = 0;
    }
    heap.newest = 0;
    state.heap = (uint32_t)(uintptr_t)fp_overlay_heap | 1;
    state.current = &fp_overlay_slots[0].u;
    state.top = fp_overlay_memory.frames;
    state.uses = 0;
    if (fp_overlay_read(fp_overlay_image[0] - 4, &identity, 4))
        return FP_OVERLAY_IO;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    return identity == fp_overlay_image[1] ? FP_OVERLAY_OK : FP_OVERLAY_IMAGE;
}
