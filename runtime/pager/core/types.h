/*
 * Types and constants that follow from the design
 *
 * Every type is as narrow as the design allows: RAM is what a pager saves.
 */
#ifndef FLASHPAGER_CORE_TYPES_H
#define FLASHPAGER_CORE_TYPES_H

/* Tests of the design. */
#define POLICY_IS(name) (FP_PAGER_POLICY == FP_PAGER_##name)
#define LOOKUP_IS(name) (FP_PAGER_LOOKUP == FP_PAGER_##name)
#define REGISTER_IS(name) (FP_PAGER_REGISTER == FP_PAGER_##name)
#define SCHEDULE_IS(name) (FP_PAGER_SCHEDULE == FP_PAGER_SCHEDULE_##name)
#define HAS_MMU LOOKUP_IS(MMU)
#define HAS_TWO_BUFFERS (FP_PAGER_REGISTER >= FP_PAGER_DOUBLE_BUFFER)
#define HAS_HOMES (FP_PAGER_STORE == FP_PAGER_STORE_HOMES)
#define HAS_CRITICAL_BLOCK (FP_PAGER_CRITICAL_BYTES > 0)
#define HAS_SECOND_CHANCE (POLICY_IS(FIFO_SC) || POLICY_IS(PA_FIFO_SC))
#define KEEPS_ORDER (POLICY_IS(SIEVE) || POLICY_IS(LRU))
/* 1 if consecutive references to one page must be distinguished from one reference. Most policies need not:
 * a second reference sets a bit that is set, or moves the newest page to the front. Sieve and the
 * statistics need it. */
#define COLLAPSES_REFERENCES (!HAS_MMU && (POLICY_IS(SIEVE) || FP_PAGER_STATISTICS))

/* 1 if the pager keeps whether a call runs, and which context may call. */
#define HAS_GUARD (!HAS_MMU || FP_PAGER_CHECKS)
#ifdef FP_PAGER_CONTEXT
#define HAS_CONTEXT (!HAS_MMU && !FP_PAGER_WINDOWS)
#else
#define HAS_CONTEXT 0
#endif

#ifdef __GNUC__
#define FP_PAGER_OUT_OF_LINE_ __attribute__((noinline))
#else
#define FP_PAGER_OUT_OF_LINE_
#endif

/* The storage of what bytes are fetched to. */
#if FP_PAGER_ALIGN <= 1
#define FETCHED_INTO static
#elif defined(__GNUC__)
#define FETCHED_INTO static __attribute__((aligned(FP_PAGER_ALIGN)))
#else
#define FETCHED_INTO static _Alignas(FP_PAGER_ALIGN)
#endif

/* The contents of a frame: a cache page, or NO_PAGE, and the reference bit. */
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

/* A frame, or a place: its position in the order that the policy keeps. In memory and in registers. */
#if FP_PAGER_MOST_FRAMES < 255
typedef uint8_t stored_frame;
typedef uint_fast8_t frame_t;
#else
typedef uint16_t stored_frame;
typedef uint_fast16_t frame_t;
#endif

/* A flash page in memory, or NO_FLASH_PAGE. */
#ifdef FP_PAGER_SIZES_VARY
typedef uint32_t stored_flash_page;
#elif FP_PAGER_FLASH_PAGES <= 32767
typedef uint16_t stored_flash_page;
#else
typedef uint32_t stored_flash_page;
#endif
#define NO_FLASH_PAGE ((stored_flash_page)-1)
#define PAGES_PER_FLASH_PAGE (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES)

/* The size of the image, which the header has, or the design. */
#if FP_PAGER_HEADER
#define FP_PAGER_LENGTH_ (pager.image.length)
#define IMAGE_PAGES ((fp_page)((FP_PAGER_LENGTH_ + FP_PAGER_PAGE_BYTES - 1u) / FP_PAGER_PAGE_BYTES))
#else
#define FP_PAGER_LENGTH_ FP_PAGER_IMAGE_BYTES
#define IMAGE_PAGES FP_PAGER_PAGES
#endif
#define LAST_FLASH_PAGE ((fp_flash_page)((IMAGE_PAGES - 1u) / PAGES_PER_FLASH_PAGE))

/* The cache page at an offset of the image. An AVR shifts by one bit at a time: a few shifts to the
 * left and one byte dropped are faster than many to the right. */
#if defined(__AVR__) && FP_PAGER_MOST_PAGES <= 256 && FP_PAGER_MOST_PAGE_BYTES <= 256
#define PAGE_AT(offset) ((fp_page)((uint16_t)((offset) * (256u / FP_PAGER_PAGE_BYTES)) >> 8))
#else
#define PAGE_AT(offset) ((fp_page)((offset) / FP_PAGER_PAGE_BYTES))
#endif

#endif
