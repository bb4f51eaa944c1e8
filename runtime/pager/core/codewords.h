/*
 * Host ECC: whole codewords are fetched and corrected
 *
 *   CODEWORD_BYTES                   what is fetched begins and ends at multiples of it; 1 without ECC
 *   fetch_target(frame)              where bytes are fetched to: the frame, or a buffer if a codeword
 *                                    is larger than a cache page
 *   correct(page, column, unit, size, error)  corrects the bytes fetched from `column` of a flash page of
 *                                    the image, unless `error` says that this failed: 0 or an error
 *   copy_page(frame, page)           copies the cache page out of that buffer
 */
#ifndef FLASHPAGER_CORE_CODEWORDS_H
#define FLASHPAGER_CORE_CODEWORDS_H

#if FP_PAGER_MOST_CODEWORD_BYTES
#define CODEWORD_BYTES FP_PAGER_CODEWORD_BYTES

static inline int correct(fp_flash_page page, uint_fast16_t column, uint8_t *unit, uint_fast16_t size,
                          int error)
{
    for (uint_fast16_t at = 0; !(error < 0) && at < size; at += CODEWORD_BYTES) {
        error = fp_flash_correct(physical_page(page), column + at, unit + at);
        FP_PAGER_COUNT_(corrected, error > 0);
    }
    if (error > 0)
        error = FP_PAGER_OK;
    return error;
}
#else
#define CODEWORD_BYTES 1u

static inline int correct(fp_flash_page page, uint_fast16_t column, uint8_t *unit, uint_fast16_t size,
                          int error)
{
    (void)page;
    (void)column;
    (void)unit;
    (void)size;
    return error;
}
#endif

#ifdef FP_PAGER_SIZES_VARY
#define HAS_CODEWORD_BUFFER (FP_PAGER_MOST_CODEWORD_BYTES > 0)
#else
#define HAS_CODEWORD_BUFFER (FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES)
#endif

#if HAS_CODEWORD_BUFFER
FETCHED_INTO uint8_t codeword[FP_PAGER_MOST_CODEWORD_BYTES];

static inline uint8_t *fetch_target(uint8_t *frame)
{
    return CODEWORD_BYTES > FP_PAGER_PAGE_BYTES ? codeword : frame;
}

static inline void copy_page(uint8_t *frame, const uint8_t *page)
{
    memcpy(frame, page, FP_PAGER_PAGE_BYTES);
}
#else
static inline uint8_t *fetch_target(uint8_t *frame)
{
    return frame;
}

static inline void copy_page(uint8_t *frame, const uint8_t *page)
{
    (void)frame;
    (void)page;
}
#endif

#endif
