/*
 * The header in front of the image
 *
 *   find_image()   at the start: finds bad blocks, reads and checks the header: 0 or an error
 *   close_image()  after a start that failed at a pinned page: with a header, nothing can be read
 *
 * The section "Images" of flashpager_pager.h has the format.
 */
#ifndef FLASHPAGER_CORE_HEADER_H
#define FLASHPAGER_CORE_HEADER_H

#if FP_PAGER_HEADER
/* Offsets in a header. */
#define AT_FORMAT 4u
#define AT_DESIGN 8u
#define AT_LENGTH 12u
#define AT_VERSION 16u
#define AT_ID 20u
#define AT_IMAGE_CRC 28u
#define AT_TAG 32u /* the bytes before it are those that it authenticates */
#define AT_CRC 60u

#define HEADER_MAGIC 0x4d495046u /* "FPIM" */
/* The number in the MAC of a header, which no unit has. */
#define HEADER_NUMBER 0xffffffffu

static uint32_t get_32(const uint8_t *from)
{
    return (uint32_t)from[3] << 24 | (uint32_t)from[2] << 16 | (uint32_t)from[1] << 8 | from[0];
}

/* CRC-32 as in zlib, of some bytes after those of `crc`, which begins with 0. */
static FP_PAGER_OUT_OF_LINE_ uint32_t crc_32(uint32_t crc, const uint8_t *bytes, uint_fast16_t size)
{
    crc = ~crc;
    for (; size > 0; size--) {
        crc ^= *bytes++;
        for (uint_fast8_t bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* CRC-32 of a number of 4 bytes, after the bytes of `crc`. */
static FP_PAGER_OUT_OF_LINE_ uint32_t crc_of_number(uint32_t crc, uint32_t number)
{
    uint8_t bytes[4];
    put_32(bytes, number);
    return crc_32(crc, bytes, sizeof(bytes));
}

/* Returns the CRC-32 of the design: all numbers that the places of bytes and tags in flash depend on. An
 * array of them would take RAM on an AVR. */
static inline uint32_t design_number(void)
{
    uint32_t crc = crc_of_number(0, FP_PAGER_IMAGE_FORMAT);
    crc = crc_of_number(crc, FP_PAGER_FLASH_PAGE_BYTES);
    crc = crc_of_number(crc, FP_PAGER_HEADER_PAGES);
    crc = crc_of_number(crc, FP_PAGER_CODEWORD_BYTES);
    crc = crc_of_number(crc, FP_PAGER_TAG_BYTES);
    crc = crc_of_number(crc, FP_PAGER_TAG_BYTES ? FP_PAGER_TAG_AT : 0);
    return crc_of_number(crc, !FP_PAGER_TAG_BYTES                             ? 0
                              : FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES ? FP_PAGER_CODEWORD_BYTES
                                                                              : FP_PAGER_PAGE_BYTES);
}

#if FP_PAGER_TAG_BYTES
static inline int check_header_tag(const uint8_t *header)
{
    uint8_t head[8], right_tag[FP_PAGER_TAG_BYTES];
    fp_flash_image_key(header + AT_ID);
    memcpy(head, header + AT_VERSION, 4);
    put_32(head + 4, HEADER_NUMBER);
    fp_flash_mac(head, header, AT_TAG, right_tag);
    return compare_tags(header + AT_TAG, right_tag);
}

static inline int is_too_old(uint32_t version)
{
    return version < fp_flash_oldest();
}
#else
static inline int check_header_tag(const uint8_t *header)
{
    (void)header;
    return FP_PAGER_OK;
}

static inline int is_too_old(uint32_t version)
{
    (void)version;
    return 0;
}
#endif

static int check_header(const uint8_t *header)
{
    const uint32_t length = get_32(header + AT_LENGTH);
    int error;
    if (get_32(header) != HEADER_MAGIC || get_32(header + AT_CRC) != crc_32(0, header, AT_CRC))
        return FP_PAGER_NO_IMAGE;
    if (get_32(header + AT_FORMAT) != FP_PAGER_IMAGE_FORMAT ||
        get_32(header + AT_DESIGN) != design_number())
        return FP_PAGER_DESIGN;
    error = check_header_tag(header);
    if (error)
        return error;
    if (length > FP_PAGER_IMAGE_BYTES)
        return FP_PAGER_LARGE;
    if (!length)
        return FP_PAGER_NO_IMAGE;
    return is_too_old(get_32(header + AT_VERSION)) ? FP_PAGER_OLD : FP_PAGER_OK;
}

/* The bytes of a header that are fetched at a time. */
#if FP_PAGER_CODEWORD_BYTES
#define HEADER_PART_BYTES FP_PAGER_CODEWORD_BYTES
#elif FP_PAGER_FLASH_PAGE_BYTES < FP_PAGER_HEADER_BYTES
#define HEADER_PART_BYTES FP_PAGER_FLASH_PAGE_BYTES
#else
#define HEADER_PART_BYTES FP_PAGER_HEADER_BYTES
#endif

/* Reads the header once. Its flash pages may lie in several erase blocks, with bad ones between. */
static int read_header(uint8_t *header)
{
    const uint_fast16_t size = HEADER_PART_BYTES;
    int error = FP_PAGER_OK;
    for (uint_fast16_t at = 0; !error && at < FP_PAGER_HEADER_BYTES; at += size) {
        const fp_flash_page page = chip_page((fp_flash_page)(at / size));
        fp_flash_load(page, 0);
        error = fp_flash_wait();
        if (error)
            break;
#if HAS_TWO_BUFFERS
        fp_flash_column(0);
#endif
        error = fp_flash_fetch(header + at, size);
#if FP_PAGER_MOST_CODEWORD_BYTES
        if (!error) {
            error = fp_flash_correct(page, 0, header + at);
            if (error > 0)
                error = FP_PAGER_OK;
        }
#endif
    }
    return error;
}

/* Returns the buffer that a header is read into: that of codewords, or the first frames, none of which is in
 * use at the start. */
static inline uint8_t *header_bytes(void)
{
#if HAS_CODEWORD_BUFFER
    return codeword;
#else
    return frames;
#endif
}

static inline int find_image(void)
{
    uint8_t *const header = header_bytes();
    uint_fast8_t tries = 0;
    int error = find_bad_blocks(FP_PAGER_HEADER_PAGES);
    if (error)
        return error;
    do {
        error = read_header(header);
        if (!error)
            error = check_header(header);
        /* A bus without a check may have changed a bit. */
    } while ((error == FP_PAGER_IO || error == FP_PAGER_CORRUPT || error == FP_PAGER_NO_IMAGE) &&
             tries++ != FP_PAGER_RETRIES);
    if (!error) {
        const uint32_t length = get_32(header + AT_LENGTH);
        error = find_bad_blocks((length - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u +
                                FP_PAGER_HEADER_PAGES);
        if (!error) {
            pager.image.length = length;
            pager.image.version = get_32(header + AT_VERSION);
            pager.image.crc = get_32(header + AT_IMAGE_CRC);
            memcpy(pager.image.id, header + AT_ID, FP_PAGER_ID_BYTES);
        }
    }
    /* No unchecked byte stays in RAM. */
    memset(header, 0,
           HEADER_PART_BYTES > FP_PAGER_HEADER_BYTES ? HEADER_PART_BYTES : FP_PAGER_HEADER_BYTES);
    return error;
}

/* Closes the image of a start that failed, so that no pinned page is read that has not come. */
static inline void close_image(void)
{
    memset(&pager.image, 0, sizeof(pager.image));
#if FP_PAGER_PINNED_PAGES
    memset(pinned, 0, sizeof(pinned));
#endif
}

FP_PAGER_API const struct fp_pager_image *fp_pager_image(void)
{
    return &pager.image;
}
#else
static inline void close_image(void)
{
}

static inline int find_image(void)
{
    return find_bad_blocks((uint32_t)FP_PAGER_FLASH_PAGES);
}
#endif

#endif
