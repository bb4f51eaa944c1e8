/*
 * A program's own code behind userfaultfd: what its parts share
 *
 * `flashpager page` preloads this library into a program of x86-64 Linux. Before the program's first
 * instruction page.c puts an empty region where its code was mapped. Each fault there is served by
 * pager.c, compiled for each policy by policy.h, out of the program's file.
 */
#ifndef FLASHPAGER_LINUX_PAGE_H
#define FLASHPAGER_LINUX_PAGE_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096u
/* The most frames, and pages of code. */
#define MOST_FRAMES 32000u
#define MOST_PAGES 524272u

#define MOST_TIMES 65536u

/* The design, as the environment gives it to the library in one variable of numbers: a descriptor of
 * the shared memory, one of a socket, the policy by its place, its parameter, the frames. */
#define DESIGN_VARIABLE "FLASHPAGER_PAGE"

enum state {
    NOT_LOADED, /* the library was not */
    REFUSED,    /* the reason is why the program did not begin */
    PAGED,      /* it runs, or ran to its end */
    STOPPED,    /* the reason is why it was ended */
};

/* What the library tells flashpager in memory that they share, so that it is told whichever way the
 * program ends. Python reads it. */
struct told {
    uint64_t state;
    uint64_t error;      /* errno beside the reason, or 0 */
    uint64_t code_bytes; /* from the region's first page to the end of the code */
    uint64_t misses, false_faults, reference_bits_set, downgrades, walk, max_walk;
    uint64_t data_reads; /* of the code, as data */
    uint64_t straddles;  /* instructions whose first page the fault of their second took away */
    uint64_t handler_ns; /* of all faults, from the handler's first instruction to its last */
    uint64_t outer_ns;   /* of a fault outside of the handler: to it and back, the median of some */
    char reason[256];
    /* Of each fault that was served, in the handler; of more than these the last ones. */
    uint64_t faults;
    uint32_t fault_ns[MOST_TIMES];
};

/* The program's code, as the policies see it. */
struct code {
    uint8_t *start;       /* where the program runs it */
    const uint8_t *flash; /* its file */
    uint8_t *memory;      /* the frames */
    uint16_t *frame;      /* of each page, + 1; 0 for none */
    uint8_t *is_mapped;   /* of each page: it does not fault */
    uint32_t bytes, pages, frames;
    uint32_t parameter; /* budget, seed or valid */
};
extern struct code fp_page_code;

/* The library's own, as the program may have a memcpy() that is paged. */
static inline void fp_page_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/* Make accesses to a page succeed, with these bytes; or fault. */
void fp_page_map(uint32_t page, const uint8_t *bytes);
void fp_page_unmap(uint32_t page);

struct policy {
    const char *name;
    int (*start)(void);
    int (*fault)(uint32_t page);
    void (*tell)(struct told *told);
};
extern const struct policy fp_page_fifo, fp_page_clock, fp_page_pa_clock, fp_page_random,
    fp_page_fifo_sc, fp_page_pa_fifo_sc;

#endif
