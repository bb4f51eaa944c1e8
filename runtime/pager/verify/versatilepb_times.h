/*
 * The times of the handler's jobs on a Versatile PB, for the file that includes the pager
 *
 * QEMU charges the same time for each instruction, and none for a bus or a flash chip. So the two waits
 * are modelled: a load takes FP_VERIFY_T_R ticks of the counter from its command on, and each byte takes
 * FP_VERIFY_BYTE / 65,536 ticks. The rest is the handler's own instructions. FP_VERIFY_SPINS / 256 is how
 * often a loop of two instructions runs in a tick. A load ahead, and the rest of a page behind its
 * critical block, take their time while the program runs; the code here that sums times does not count.
 *
 * say_times() writes a line for each kind of fault and length of its search, with these numbers: "times";
 * the kind (0: a true fault that loads, 1: a true fault whose page is in a buffer, 2: a false fault, 3: a
 * fault of the rest of a page); frames examined and pages downgraded; the number of such faults; and for
 * each job the sum and the longest of its times, in ticks. The jobs are those of enum job.
 */
#ifndef FLASHPAGER_VERSATILEPB_TIMES_H
#define FLASHPAGER_VERSATILEPB_TIMES_H

/* The jobs whose times are summed. JOB_LOAD reaches from the command to the end of the load, and includes
 * the work done meanwhile. */
enum job {
    JOB_PRE_PROCESS,
    JOB_COMMAND,
    JOB_GET_FREEFRAME,
    JOB_LOAD,
    JOB_TRANS_HOST_MEM,
    JOB_UPDATE_MMU,
    JOB_POST_PROCESS,
    JOB_WHOLE,
    JOB_WAIT, /* for a load ahead, and for the rest of the page before */
    JOBS,
};

enum kind { LOADED, IN_BUFFER, FALSE_FAULT, OF_REST, KINDS };

/* Clock examines the first frame at most twice. Longer searches count as the longest. */
#define SEARCHES (FP_PAGER_FRAMES + 2u)

static struct {
    uint32_t count;
    struct {
        uint32_t sum, longest;
    } job[JOBS];
} times[KINDS][SEARCHES];

static uint32_t ready;  /* when the load is done */
static uint8_t is_ahead; /* the load */
static uint32_t rest_ready; /* when the rest of a page has come */
/* The time that a fault waited for work that was still going on when it came. */
static uint32_t waited_for_load, waited_for_rest;

/* Instructions beside the loop from where a wait reads the counter to the next stamp. */
#define LOAD_OWN 13u
#define FETCH_OWN 24u

/* Waits by counting, as polling would take the time of a few instructions too many, and is slow on the
 * host. */
static void wait_until(uint32_t then, uint32_t own)
{
    const int32_t left = (int32_t)(then - COUNTER);
    uint32_t spins;
    if (left <= 0)
        return;
    spins = (uint32_t)left * FP_VERIFY_SPINS >> 8;
    if (spins <= own / 2)
        return;
    spins -= own / 2;
    __asm__ volatile("1: subs %0, %0, #1\n\tbne 1b" : "+r"(spins) : : "cc");
}

static inline void load_starts(int ahead)
{
    is_ahead = (uint8_t)ahead;
    if (ahead) {
        /* Includes the transfer of the faulting page. */
        ready = STAMPS[FP_PAGER_LOAD_STOPOVER] + FP_VERIFY_T_R;
        return;
    }
    STAMP(STAMP_COMMAND);
    ready = STAMPS[STAMP_COMMAND] + FP_VERIFY_T_R;
}

/* Waits for work that was still going on when the fault came. Returns how long that took. */
static uint32_t wait_for(uint32_t then)
{
    const uint32_t now = COUNTER;
    if ((int32_t)(then - now) <= 0)
        return 0;
    wait_until(then, LOAD_OWN);
    return COUNTER - now;
}

static inline void load_ends(void)
{
    if (is_ahead)
        waited_for_load += wait_for(ready);
    else
        wait_until(ready, LOAD_OWN);
    is_ahead = 0;
}

static void fetch_for(uint8_t *to, const uint8_t *from, uint32_t size)
{
    const uint32_t bytes = size;
    STAMP(STAMP_FETCH);
    for (; size >= 32; size -= 32)
        __asm__ volatile("ldm %0!, {r3-r10}\n\tstm %1!, {r3-r10}"
                         : "+r"(from), "+r"(to)
                         :
                         : "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "memory");
    for (; size > 0; size--)
        *to++ = *from++;
    wait_until(STAMPS[STAMP_FETCH] + (bytes * FP_VERIFY_BYTE >> 16), FETCH_OWN);
}

#if FP_PAGER_CRITICAL_BYTES
/* The rest follows the critical block without a gap. */
static void rest_begins(void)
{
    rest_ready = STAMPS[STAMP_FETCH] + (FP_PAGER_PAGE_BYTES * FP_VERIFY_BYTE >> 16);
}

static int rest_is_there(void)
{
    return (int32_t)(rest_ready - COUNTER) <= 0;
}

static void rest_waits(void)
{
    waited_for_rest += wait_for(rest_ready);
}
#endif

static uint32_t between(unsigned from, unsigned to)
{
    return STAMPS[to] - STAMPS[from];
}

/* A fault has been served. */
__attribute__((used)) static void add_times(void)
{
    static struct fp_pager_stat before;
    const struct fp_pager_stat *now = fp_pager_stat();
    const uint32_t search = now->walk - before.walk + now->downgrades - before.downgrades;
    uint32_t took[JOBS] = {0};
    enum kind kind = now->rest_faults != before.rest_faults ? OF_REST : FALSE_FAULT;
    took[JOB_WAIT] = waited_for_load + waited_for_rest;
    took[JOB_WHOLE] = between(STAMP_BEGIN, FP_PAGER_POST_PROCESS);
    if (now->misses != before.misses) {
        kind = now->loads != before.loads ? LOADED : IN_BUFFER;
        took[JOB_PRE_PROCESS] = between(STAMP_BEGIN, FP_PAGER_PRE_PROCESS) - waited_for_load;
        took[JOB_TRANS_HOST_MEM] = between(STAMP_FETCH, FP_PAGER_TRANS_HOST_MEM);
        took[JOB_UPDATE_MMU] = between(FP_PAGER_LOAD_STOPOVER, STAMP_FETCH) - waited_for_rest;
        took[JOB_GET_FREEFRAME] = between(FP_PAGER_PRE_PROCESS, FP_PAGER_GET_FREEFRAME);
        if (kind == LOADED) {
            took[JOB_LOAD] = between(STAMP_COMMAND, FP_PAGER_LOAD_STOPOVER);
#if FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_SEQUENTIAL
            took[JOB_COMMAND] = between(FP_PAGER_GET_FREEFRAME, STAMP_COMMAND);
#else
            took[JOB_COMMAND] = between(FP_PAGER_PRE_PROCESS, STAMP_COMMAND);
            took[JOB_GET_FREEFRAME] = between(STAMP_COMMAND, FP_PAGER_GET_FREEFRAME);
#endif
        }
#if FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_PARALLEL_MMU
        took[JOB_UPDATE_MMU] += between(FP_PAGER_GET_FREEFRAME, FP_PAGER_UPDATE_MMU);
        took[JOB_POST_PROCESS] = between(FP_PAGER_TRANS_HOST_MEM, FP_PAGER_POST_PROCESS);
#else
        took[JOB_UPDATE_MMU] += between(FP_PAGER_TRANS_HOST_MEM, FP_PAGER_UPDATE_MMU);
        took[JOB_POST_PROCESS] = between(FP_PAGER_UPDATE_MMU, FP_PAGER_POST_PROCESS);
#endif
    }
    /* A fault of a page that is mapped already does not count. */
    if (kind != FALSE_FAULT || now->false_faults != before.false_faults) {
        const uint32_t at = search < SEARCHES ? search : SEARCHES - 1u;
        times[kind][at].count++;
        for (unsigned job = 0; job < JOBS; job++) {
            times[kind][at].job[job].sum += took[job];
            if (took[job] > times[kind][at].job[job].longest)
                times[kind][at].job[job].longest = took[job];
        }
    }
    before = *now;
    waited_for_load = waited_for_rest = 0;
    /* The time of this function does not count as the program's. */
    const uint32_t adding = COUNTER - STAMPS[FP_PAGER_POST_PROCESS];
    ready += adding;
    rest_ready += adding;
}

static void say_times(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (uint32_t search = 0; search < SEARCHES; search++) {
            if (!times[kind][search].count)
                continue;
            write_text("times");
            write_number(kind);
            write_number(search);
            write_number(times[kind][search].count);
            for (unsigned job = 0; job < JOBS; job++) {
                write_number(times[kind][search].job[job].sum);
                write_number(times[kind][search].job[job].longest);
            }
            write_text("\n");
        }
    }
}

/* fp_arm926_prefetch_abort with a stamp before and after it. Four instructions come before the first stamp
 * and after the last one. */
__asm__(".text\n"
        ".arm\n"
        "timed_prefetch_abort:\n"
        "    sub lr, lr, #4\n"
        "    push {r0-r3, r12, lr}\n"
        "    mov r0, #0x10000000\n"
        "    ldr r0, [r0, #0x5c]\n"
        "    mov r1, #0x003fc000\n"
        "    str r0, [r1, #4 * 8]\n"
        "    mov r0, lr\n"
        "    bl prefetch_abort\n"
        "    mov r0, #0x10000000\n"
        "    ldr r0, [r0, #0x5c]\n"
        "    mov r1, #0x003fc000\n"
        "    str r0, [r1, #4 * 5]\n"
        "    bl add_times\n"
        "    ldm sp!, {r0-r3, r12, pc}^\n");

#endif
