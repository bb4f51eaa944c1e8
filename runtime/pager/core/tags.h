/*
 * Authentication: no byte of a unit is used before its tag was checked
 *
 *   is_refused(error)                         1 if the error is a wrong tag, which is not tried again: each
 *                                             further try is a further chance for a forged page
 *   start_tags()                              at the start, without a header: 0, or FP_PAGER_OLD
 *   check_tag(flash_page, column, unit, size) the unit at a column of a flash page of the image: 0 or
 *                                             an error
 */
#ifndef FLASHPAGER_CORE_TAGS_H
#define FLASHPAGER_CORE_TAGS_H

#if FP_PAGER_TAG_BYTES || FP_PAGER_HEADER
/* Writes a number with its least significant byte first. */
static void put_32(uint8_t *to, uint32_t value)
{
    for (uint_fast8_t i = 0; i < 4; i++, value >>= 8)
        to[i] = (uint8_t)value;
}
#endif

#if FP_PAGER_TAG_BYTES
static inline int is_refused(int error)
{
    return error == FP_PAGER_FORGED;
}

#if FP_PAGER_HEADER
#define FP_PAGER_VERSION_ (pager.image.version)

static inline int start_tags(void)
{
    return FP_PAGER_OK;
}
#else
#define FP_PAGER_VERSION_ (pager.version)

static inline int start_tags(void)
{
    FP_PAGER_VERSION_ = FP_PAGER_IMAGE_VERSION;
    return FP_PAGER_VERSION_ < fp_flash_oldest() ? FP_PAGER_OLD : FP_PAGER_OK;
}
#endif

/* Compares two tags in constant time. */
static inline int compare_tags(const uint8_t *stored_tag, const uint8_t *right_tag)
{
    uint_fast8_t differences = 0;
    for (uint_fast8_t i = 0; i < FP_PAGER_TAG_BYTES; i++)
        differences |= (uint_fast8_t)(stored_tag[i] ^ right_tag[i]);
    return differences ? FP_PAGER_FORGED : FP_PAGER_OK;
}

/* Checks the tag of a unit. Out of line, as the rest of a fetch has no use for its buffers. */
static FP_PAGER_OUT_OF_LINE_ int authenticate(fp_flash_page flash_page, uint_fast16_t column,
                                              const uint8_t *unit, uint_fast16_t size)
{
    uint8_t head[8], stored_tag[FP_PAGER_TAG_BYTES], right_tag[FP_PAGER_TAG_BYTES];
    const uint_fast16_t index = column / size;
    put_32(head, FP_PAGER_VERSION_);
    put_32(head + 4, (uint32_t)flash_page * (FP_PAGER_FLASH_PAGE_BYTES / size) + (uint32_t)index);
    const int error = fp_flash_spare(FP_PAGER_TAG_AT + index * FP_PAGER_TAG_BYTES, stored_tag,
                                     sizeof(stored_tag));
    if (error)
        return error;
    fp_flash_mac(head, unit, size, right_tag);
    return compare_tags(stored_tag, right_tag);
}

static inline int check_tag(fp_flash_page flash_page, uint_fast16_t column, const uint8_t *unit,
                            uint_fast16_t size)
{
    FP_PAGER_COUNT_(column_changes, REGISTER_IS(RANDOM_COLUMN));
    FP_PAGER_COUNT_(bytes_fetched, FP_PAGER_TAG_BYTES);
    FP_PAGER_COUNT_(tag_bytes_fetched, FP_PAGER_TAG_BYTES);
    FP_PAGER_COUNT_(mac_bytes, 8 + size);
    return authenticate(flash_page, column, unit, size);
}
#else
static inline int is_refused(int error)
{
    (void)error;
    return 0;
}

static inline int start_tags(void)
{
    return FP_PAGER_OK;
}

static inline int check_tag(fp_flash_page flash_page, uint_fast16_t column, const uint8_t *unit,
                            uint_fast16_t size)
{
    (void)flash_page;
    (void)column;
    (void)unit;
    (void)size;
    return FP_PAGER_OK;
}
#endif

#endif
