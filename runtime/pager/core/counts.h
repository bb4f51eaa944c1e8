/*
 * Statistics, and hooks that measure
 *
 * Without FP_PAGER_STATISTICS nothing here takes code or memory.
 */
#ifndef FLASHPAGER_CORE_COUNTS_H
#define FLASHPAGER_CORE_COUNTS_H

/* The end of a job of a fault, and of a step of the hand: see mmu/flashpager_mmu.h. */
#ifdef FP_PAGER_JOB_DONE
#define JOB_DONE(job) FP_PAGER_JOB_DONE(job)
#else
#define JOB_DONE(job) ((void)0)
#endif
#ifdef FP_PAGER_STEP_DONE
#define STEP_DONE() FP_PAGER_STEP_DONE()
#else
#define STEP_DONE() ((void)0)
#endif

#if FP_PAGER_STATISTICS
static struct fp_pager_stat stat;
typedef struct fp_pager_stat counts_snapshot;

#define FP_PAGER_COUNT_(name, increment) (stat.name += (uint32_t)(increment))

static inline counts_snapshot counts_before_fetch(void)
{
    return stat;
}

/* Takes back what an attempt that failed has counted. */
static inline void restore_counts(const counts_snapshot *before)
{
    const uint32_t retries = stat.retries, failures = stat.failures;
    stat = *before;
    stat.retries = retries;
    stat.failures = failures;
}

static inline void count_walk(uint_fast16_t walk)
{
    stat.walk += walk;
    if (walk > stat.max_walk)
        stat.max_walk = (uint32_t)walk;
}

static inline void reset_counts(void)
{
    memset(&stat, 0, sizeof(stat));
}

FP_PAGER_API const struct fp_pager_stat *fp_pager_stat(void)
{
    return &stat;
}
#else
typedef uint8_t counts_snapshot;

#define FP_PAGER_COUNT_(name, increment) ((void)0)

static inline counts_snapshot counts_before_fetch(void)
{
    return 0;
}

static inline void restore_counts(const counts_snapshot *before)
{
    (void)before;
}

static inline void count_walk(uint_fast16_t walk)
{
    (void)walk;
}

static inline void reset_counts(void)
{
}
#endif

#endif
