/*
 * The guard: one call of the pager at a time
 *
 *   enter_pager()     begins a call: 0, or the error for the caller, who has not entered then
 *   leave_pager()     ends it; also before fp_flash_failed(), which may leave by longjmp()
 *   set_serving(is)   1 while a call runs
 *   set_context()     at the start: the context that calls now is the one that may call
 *   is_refused_call() 1 if another call runs, or another context calls
 */
#ifndef FLASHPAGER_CORE_GUARD_H
#define FLASHPAGER_CORE_GUARD_H

/* The compiler moves no access to memory across it. */
#ifdef __GNUC__
#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#else
#define COMPILER_BARRIER() ((void)0)
#endif

#if HAS_GUARD
static inline void set_serving(uint8_t is)
{
    COMPILER_BARRIER();
    pager.serving = is;
    COMPILER_BARRIER();
}
#else
static inline void set_serving(uint8_t is)
{
    (void)is;
}
#endif

#if FP_PAGER_LOCK
static inline int lock_pager(void)
{
    return fp_flash_lock();
}

static inline void unlock_pager(void)
{
    fp_flash_unlock();
}
#else
static inline int lock_pager(void)
{
    return FP_PAGER_OK;
}

static inline void unlock_pager(void)
{
}
#endif

#if HAS_GUARD
/* Returns 1 if a call runs already; else this one runs from now on. */
static inline int test_and_set_serving(void)
{
#if FP_PAGER_WINDOWS && !FP_PAGER_LOCK && defined(__GCC_ATOMIC_CHAR_LOCK_FREE) &&                 \
    __GCC_ATOMIC_CHAR_LOCK_FREE == 2
    return __atomic_exchange_n(&pager.serving, 1, __ATOMIC_ACQUIRE);
#else
    /* An interrupt between both lines has ended its own call before the second. */
    const uint8_t is_serving = pager.serving;
    set_serving(1);
    return is_serving;
#endif
}

static inline int enter_pager(void)
{
    const int error = lock_pager();
    if (error)
        return error;
    if (test_and_set_serving()) {
        unlock_pager();
        return FP_PAGER_BUSY;
    }
    return FP_PAGER_OK;
}
#else
static inline int enter_pager(void)
{
    return FP_PAGER_OK;
}
#endif

static inline void leave_pager(void)
{
    set_serving(0);
    unlock_pager();
}

#if HAS_CONTEXT
static inline void set_context(void)
{
    pager.context = (uintptr_t)FP_PAGER_CONTEXT();
}

static inline int is_refused_call(void)
{
    return pager.serving || pager.context != (uintptr_t)FP_PAGER_CONTEXT();
}
#else
static inline void set_context(void)
{
}

static inline int is_refused_call(void)
{
#if HAS_GUARD
    return pager.serving;
#else
    return 0;
#endif
}
#endif

#endif
