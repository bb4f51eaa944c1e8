/*
 * A program's own code, or a library's, behind userfaultfd: the types that the parts share
 *
 * `flashpager page` preloads these parts as a library into a program of x86-64 Linux. Before the program's
 * first instruction, page.c puts an empty region where the code was mapped. pager.c serves each fault there
 * from the file of the code; policy.h compiles it once for each policy.
 */
#ifndef FLASHPAGER_LINUX_PAGE_H
#define FLASHPAGER_LINUX_PAGE_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096u
/* The largest number of frames, and of pages of code. */
#define MOST_FRAMES 32000u
#define MOST_PAGES 524272u

/* The number of fault times that are kept. */
#define MOST_TIMES 65536u

/* The environment variable with the design, as numbers: the descriptor of the shared memory, that of a
 * socket, the index of the policy, its parameter, and the number of frames; then the path of the library
 * that is paged, if it is not the program. */
#define DESIGN_VARIABLE "FLASHPAGER_PAGE"

enum page_state {
    NOT_LOADED, /* the library was not loaded */
    REFUSED,    /* the program did not begin, for the reason below */
    PAGED,      /* the program runs, or ran to its end */
    STOPPED,    /* the library ended the program, for the reason below */
};

/* The report of the library, in memory that it shares with flashpager: it is complete however the
 * program ends. python/flashpager/verify/linux.py reads it. */
struct page_report {
    uint64_t state;      /* enum page_state */
    uint64_t error;      /* the errno that belongs to the reason, or 0 */
    uint64_t code_bytes; /* size from the region's first page to the end of the code */
    uint64_t misses, false_faults, reference_bits_set, downgrades, walk, max_walk;
    uint64_t data_reads; /* reads of code as data */
    uint64_t straddles;  /* instructions on two pages, where the second one evicted the first */
    uint64_t handler_ns; /* time of all faults from the handler's first instruction to its last */
    uint64_t outer_ns;   /* median time of a fault outside the handler: the way to it and back */
    char reason[256];
    uint64_t faults;     /* faults that were served */
    uint32_t fault_ns[MOST_TIMES]; /* time of each fault in the handler; of many the last ones */
};

/* The paged code, as the pager of each policy sees it. */
struct paged_code {
    uint8_t *start;       /* where the program executes it */
    const uint8_t *flash; /* the file of the code */
    uint8_t *memory;      /* the frames */
    uint16_t *frame;      /* by page: its frame + 1, or 0 */
    uint8_t *is_mapped;   /* by page: 1 if accesses do not fault */
    uint32_t bytes, pages, frames;
    uint32_t parameter; /* budget of pa-clock, seed of random, valid pages of fifo-sc */
};
extern struct paged_code fp_page_code;

/* Copies bytes. The program may have a memcpy() of its own, which would be paged. */
static inline void fp_page_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/* Makes accesses to a page succeed, with these bytes. */
void fp_page_map(uint32_t page, const uint8_t *bytes);
/* Makes accesses to a page fault. */
void fp_page_unmap(uint32_t page);

/* The pager with one policy. */
struct policy_pager {
    const char *name;
    int (*start)(void);          /* returns 0 or an error of the pager */
    int (*fault)(uint32_t page); /* the same */
    void (*report_counts)(struct page_report *report);
};
extern const struct policy_pager fp_page_fifo, fp_page_clock, fp_page_pa_clock, fp_page_random,
    fp_page_fifo_sc, fp_page_pa_fifo_sc;

#endif
