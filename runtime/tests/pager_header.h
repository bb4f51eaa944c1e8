/*
 * Tests of an image with a header, with the design of the including file
 *
 * It defines the design, and PAGER_TESTS, the prefix of the tests' names.
 */
#include "test.h"

#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_HEADER 1
#include "../pager/mac/aes_cmac.h"
#include "../pager/pager.c"

#if FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES
#define UNIT_BYTES FP_PAGER_CODEWORD_BYTES
#else
#define UNIT_BYTES FP_PAGER_PAGE_BYTES
#endif
#define UNITS (FP_PAGER_FLASH_PAGE_BYTES / UNIT_BYTES)
#define SPARE_BYTES (FP_PAGER_TAG_AT + UNITS * FP_PAGER_TAG_BYTES)
#define CHIP_BLOCKS ((FP_PAGER_FLASH_PAGES - 1) / FP_PAGER_BLOCK_PAGES + 1 + FP_PAGER_BAD_BLOCKS)

static uint8_t medium[CHIP_BLOCKS * FP_PAGER_BLOCK_PAGES][FP_PAGER_FLASH_PAGE_BYTES + SPARE_BYTES + 1];
static uint32_t bad_set;
static unsigned good_reads; /* reads that succeed before those that fail */
static unsigned failing; /* reads that fail next */
static unsigned failures; /* calls of fp_flash_failed() */

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    EXPECT(!(bad_set >> page / FP_PAGER_BLOCK_PAGES & 1));
    return medium[page][column];
}

static bool fails(void)
{
    if (failing && good_reads > 0) {
        good_reads--;
        return false;
    }
    return failing > 0 && failing-- > 0;
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES (CHIP_BLOCKS * FP_PAGER_BLOCK_PAGES)
#define CHIP_BYTE(page, column) chip_byte(page, column)
#define CHIP_FAILS() fails()
#include "../pager/emulated/chip.h"

#include "pager_tags_port.h"

#if FP_PAGER_BAD_BLOCKS
FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    return block < CHIP_BLOCKS ? (int)(bad_set >> block & 1) : FP_PAGER_IO;
}
#endif

#if FP_PAGER_CODEWORD_BYTES
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *word)
{
    EXPECT(page < CHIP_PAGES && column % FP_PAGER_CODEWORD_BYTES == 0 && word);
    return fails() ? FP_PAGER_CORRUPT : 1;
}
#endif

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    failures++;
    return error;
}

/* An image, made of its id. */
struct image {
    uint32_t length, version, id;
};

static uint8_t image_byte(const struct image *image, uint32_t offset)
{
    return offset < image->length
               ? (uint8_t)((offset * UINT32_C(2654435761) + image->id * UINT32_C(40503)) >> 16)
               : 0xff;
}

static void set_32(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* A slow CRC-32, a bit at a time from its polynomial. */
static uint32_t slow_crc(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size * 8; i++) {
        const uint32_t bit = (crc ^ bytes[i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* Returns the chip's page of one counted from the header on, among the good blocks. */
static uint32_t good_page(uint32_t page)
{
    uint32_t good = page / FP_PAGER_BLOCK_PAGES, block = 0;
    while (bad_set >> block & 1 || good-- > 0)
        block++;
    return block * FP_PAGER_BLOCK_PAGES + page % FP_PAGER_BLOCK_PAGES;
}

static void make_tag(uint32_t version, uint32_t number, const uint8_t *data, size_t size, uint8_t *tag)
{
    uint8_t head[8];
    set_32(head, version);
    set_32(head + 4, number);
    fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
}

static void set_header_crc(uint8_t *header)
{
    set_32(header + 60, slow_crc(header, 60));
}

/* Makes a header as flashpager_pager.h describes it. */
static void make_header(const struct image *image, uint8_t header[FP_PAGER_HEADER_BYTES])
{
    const uint32_t design[] = {1,
                               FP_PAGER_FLASH_PAGE_BYTES,
                               FP_PAGER_HEADER_PAGES,
                               FP_PAGER_CODEWORD_BYTES,
                               FP_PAGER_TAG_BYTES,
                               FP_PAGER_TAG_BYTES ? FP_PAGER_TAG_AT : 0,
                               FP_PAGER_TAG_BYTES ? UNIT_BYTES : 0};
    static uint8_t bytes[FP_PAGER_IMAGE_BYTES + 1];
    uint8_t numbers[sizeof(design)];
    for (unsigned i = 0; i < sizeof(design) / 4; i++)
        set_32(numbers + 4 * i, design[i]);
    for (uint32_t i = 0; i < image->length && i < sizeof(bytes); i++)
        bytes[i] = image_byte(image, i);
    memset(header, 0, FP_PAGER_HEADER_BYTES);
    memcpy(header, "FPIM", 4);
    set_32(header + 4, 1);
    set_32(header + 8, slow_crc(numbers, sizeof(numbers)));
    set_32(header + 12, image->length);
    set_32(header + 16, image->version);
    set_32(header + 20, image->id);
    set_32(header + 28, slow_crc(bytes, image->length));
    if (FP_PAGER_TAG_BYTES)
        make_tag(image->version, UINT32_MAX, header, 32, header + 32);
    set_header_crc(header);
}

static void write_header(const uint8_t header[FP_PAGER_HEADER_BYTES])
{
    for (uint32_t at = 0; at < FP_PAGER_HEADER_BYTES; at++)
        medium[good_page(at / FP_PAGER_FLASH_PAGE_BYTES)][at % FP_PAGER_FLASH_PAGE_BYTES] = header[at];
}

static void write_image(const struct image *image)
{
    uint8_t id[FP_PAGER_ID_BYTES] = {0}, header[FP_PAGER_HEADER_BYTES];
    memset(medium, 0xff, sizeof(medium));
    set_32(id, image->id);
    fp_aes_cmac_key(&mac, key);
    fp_aes_cmac_image_key(&mac, id);
    for (uint32_t page = 0; page * FP_PAGER_FLASH_PAGE_BYTES < image->length; page++) {
        uint8_t *to = medium[good_page(page + FP_PAGER_HEADER_PAGES)];
        for (uint32_t i = 0; i < FP_PAGER_FLASH_PAGE_BYTES; i++)
            to[i] = image_byte(image, page * FP_PAGER_FLASH_PAGE_BYTES + i);
        for (uint32_t unit = 0; FP_PAGER_TAG_BYTES && unit < UNITS; unit++)
            make_tag(image->version, page * UNITS + unit, to + unit * UNIT_BYTES, UNIT_BYTES,
                     to + FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT + unit * FP_PAGER_TAG_BYTES);
    }
    make_header(image, header);
    write_header(header);
    memset(&mac, 0, sizeof(mac));
}

static int start(void)
{
    chip_reset();
    failures = 0;
    return fp_pager_start();
}

static void expect_image(const struct image *image)
{
    const uint32_t step = SANITIZED ? 13 : 1;
    uint8_t byte;
    for (uint32_t at = 0; at < image->length; at += step) {
        EXPECT_EQ(fp_pager_read(at, &byte, 1), 0);
        EXPECT_EQ(byte, image_byte(image, at));
    }
    EXPECT_EQ(fp_pager_read(image->length - 1, &byte, 1), 0);
    EXPECT_EQ(fp_pager_read(image->length, &byte, 1), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_pager_read(UINT32_MAX, &byte, 1), FP_PAGER_OUTSIDE);
    EXPECT(fp_pager_page((image->length - 1) / FP_PAGER_PAGE_BYTES) != NULL);
    EXPECT(fp_pager_page((image->length - 1) / FP_PAGER_PAGE_BYTES + 1) == NULL);
    EXPECT_EQ(fp_pager_error(), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_pager_image()->length, image->length);
    EXPECT_EQ(fp_pager_image()->version, image->version);
    EXPECT_EQ(get_32(fp_pager_image()->id), image->id);
    EXPECT_EQ(fp_pager_check(), 0);
}

/* The start returns an error, nothing can be read, and no byte of the header stays in RAM. */
static void expect_refusal(int error)
{
    struct fp_cursor cursor = {0};
    uint8_t byte;
    const unsigned loads = FP_PAGER_FLASH_PAGE_BYTES < FP_PAGER_HEADER_BYTES
                               ? FP_PAGER_HEADER_BYTES / FP_PAGER_FLASH_PAGE_BYTES
                               : 1;
    EXPECT_EQ(start(), error);
    EXPECT_EQ(failures, 0);
    /* A failure that another read may mend is tried again; a wrong tag is not. */
    if (error != FP_PAGER_IO)
        EXPECT_EQ(chip.counts.loads,
                  loads * (error == FP_PAGER_NO_IMAGE ? FP_PAGER_RETRIES + 1 : 1));
    EXPECT_EQ(fp_pager_image()->length, 0);
    EXPECT_EQ(fp_pager_check(), FP_PAGER_NO_IMAGE);
    EXPECT_EQ(fp_pager_read(0, &byte, 1), FP_PAGER_OUTSIDE);
    EXPECT_EQ(fp_cursor_byte(&cursor), FP_PAGER_OUTSIDE);
    EXPECT(fp_pager_page(0) == NULL);
    for (unsigned i = 0; i < FP_PAGER_HEADER_BYTES; i++)
        EXPECT_EQ(header_bytes()[i], 0);
}

/* The same firmware runs images of all lengths and versions, with all sets of bad blocks. */
static void new_images(void)
{
    static const uint32_t lengths[] = {1, FP_PAGER_PAGE_BYTES - 1, FP_PAGER_FLASH_PAGE_BYTES,
                                       FP_PAGER_FLASH_PAGE_BYTES + 1, FP_PAGER_IMAGE_BYTES / 2,
                                       FP_PAGER_IMAGE_BYTES};
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const struct image image = {lengths[i], 5 + i, 1000 + i};
        const uint32_t pages = (image.length - 1) / FP_PAGER_FLASH_PAGE_BYTES + 1 + FP_PAGER_HEADER_PAGES;
        const uint32_t blocks = (pages - 1) / FP_PAGER_BLOCK_PAGES + 1;
        for (bad_set = 0; bad_set < (FP_PAGER_BAD_BLOCKS ? 1u << CHIP_BLOCKS : 1u); bad_set++) {
            unsigned good = 0, bad_ones = 0;
            for (unsigned block = 0; block < CHIP_BLOCKS && good < blocks; block++) {
                good += !(bad_set >> block & 1);
                bad_ones += bad_set >> block & 1;
            }
            test_at("length %u, bad blocks %x", image.length, bad_set);
            if (good < blocks || bad_ones > FP_PAGER_BAD_BLOCKS)
                continue;
            write_image(&image);
            EXPECT_EQ(start(), 0);
            EXPECT_EQ(stat.loads + stat.bytes_fetched + stat.references, 0);
            expect_image(&image);
        }
    }
    bad_set = 0;
}

/* A header with a CRC that is right, but a bit that no tag covers is another one. What it says is believed;
 * the check of the whole image notices another length or CRC. */
static void expect_belief(const uint8_t *header, unsigned changed_byte)
{
    const uint32_t length = get_32(header + 12);
    const bool is_another = (changed_byte >= 12 && changed_byte < 16) ||
                            (changed_byte >= 28 && changed_byte < 32);
    if (!length || length > FP_PAGER_IMAGE_BYTES) {
        expect_refusal(length ? FP_PAGER_LARGE : FP_PAGER_NO_IMAGE);
        return;
    }
    EXPECT_EQ(start(), 0);
    EXPECT_EQ(fp_pager_image()->length, length);
    EXPECT_EQ(fp_pager_image()->version, get_32(header + 16));
    EXPECT_EQ(memcmp(fp_pager_image()->id, header + 20, FP_PAGER_ID_BYTES), 0);
    EXPECT_EQ(fp_pager_check(), is_another ? FP_PAGER_NO_IMAGE : 0);
}

/* A bit of the header that changes is noticed, by the CRC; and by the tag, if the CRC changes, too. */
static void altered_headers(void)
{
    const struct image image = {FP_PAGER_IMAGE_BYTES / 2, 7, 11};
    uint8_t right[FP_PAGER_HEADER_BYTES];
    write_image(&image);
    fp_aes_cmac_key(&mac, key);
    fp_aes_cmac_image_key(&mac, (const uint8_t[8]){11});
    make_header(&image, right);
    for (unsigned bit = 0; bit < 8 * FP_PAGER_HEADER_BYTES; bit++) {
        uint8_t header[FP_PAGER_HEADER_BYTES];
        test_at("bit %u", bit);
        memcpy(header, right, sizeof(header));
        header[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_header(header);
        expect_refusal(FP_PAGER_NO_IMAGE);
        if (bit >= 8 * 60)
            continue;
        set_header_crc(header);
        write_header(header);
        if (bit < 8 * 4)
            expect_refusal(FP_PAGER_NO_IMAGE);
        else if (bit < 8 * 12)
            expect_refusal(FP_PAGER_DESIGN);
        else if (bit < 8 * (32 + FP_PAGER_TAG_BYTES) && FP_PAGER_TAG_BYTES)
            expect_refusal(FP_PAGER_FORGED);
        else
            expect_belief(header, bit / 8);
    }
    write_header(right);
    EXPECT_EQ(start(), 0);
    expect_image(&image);
}

/* An erased chip, an image for another design, a longer one, an empty one, and an old one. */
static void refused_images(void)
{
    struct image image = {FP_PAGER_IMAGE_BYTES + 1, 7, 11};
    memset(medium, 0xff, sizeof(medium));
    expect_refusal(FP_PAGER_NO_IMAGE);
    fp_aes_cmac_key(&mac, key);
    uint8_t header[FP_PAGER_HEADER_BYTES];
    fp_aes_cmac_image_key(&mac, (const uint8_t[8]){11});
    make_header(&image, header);
    write_header(header);
    expect_refusal(FP_PAGER_LARGE);
    image.length = 0;
    fp_aes_cmac_key(&mac, key);
    fp_aes_cmac_image_key(&mac, (const uint8_t[8]){11});
    make_header(&image, header);
    write_header(header);
    expect_refusal(FP_PAGER_NO_IMAGE);
    image.length = 100;
    write_image(&image);
#if FP_PAGER_TAG_BYTES
    oldest = 8;
    expect_refusal(FP_PAGER_OLD);
    oldest = 7;
#endif
    EXPECT_EQ(start(), 0);
    expect_image(&image);
}

/* Reads of the header that fail are tried again. A failure that stays is returned. */
static void failing_reads(void)
{
    const struct image image = {FP_PAGER_IMAGE_BYTES / 2, 7, 11};
    write_image(&image);
    for (failing = 1; failing <= FP_PAGER_RETRIES;) {
        const unsigned was = failing;
        EXPECT_EQ(start(), 0);
        expect_image(&image);
        EXPECT_EQ(failing, 0);
        failing = was + 1;
    }
    failing = 1000;
    expect_refusal(FP_PAGER_IO);
    /* With prefetch the start first waits for a load that an earlier run began. */
    EXPECT_EQ(failing, 1000 - (FP_PAGER_RETRIES + 1) - REGISTER_IS(DOUBLE_BUFFER_PREFETCH));
    failing = 0;
}

/* Only so many reads of a start succeed. Then nothing can be read, not even a pinned page that came before
 * the failure, and no byte of one stays in RAM. */
static void failed_starts(void)
{
    const struct image image = {FP_PAGER_IMAGE_BYTES, 7, 11};
    unsigned good = 0, failed_pages = 0;
    write_image(&image);
    for (int error = -1; error; good++) {
        uint8_t byte;
        test_at("%u good reads", good);
        good_reads = good;
        failing = 1000;
        error = start();
        failing = 0;
        failed_pages += failures;
        if (error) {
            EXPECT(error == FP_PAGER_IO || error == FP_PAGER_CORRUPT);
            EXPECT_EQ(fp_pager_read(0, &byte, 1), FP_PAGER_OUTSIDE);
            EXPECT(fp_pager_page(0) == NULL);
            EXPECT_EQ(fp_pager_image()->length, 0);
            EXPECT_EQ(fp_pager_check(), FP_PAGER_NO_IMAGE);
        }
#if FP_PAGER_PINNED_PAGES
        for (size_t i = 0; i < sizeof(pinned); i++)
            EXPECT_EQ(pinned[i], error ? 0 : image_byte(&image, (uint32_t)i));
#endif
    }
    EXPECT(good > 2);
    EXPECT((failed_pages > 0) == (FP_PAGER_PINNED_PAGES > 0));
    expect_image(&image);
}

/* Returns the flash page of the image that an update writes at a step: the block with the header is the
 * last, so that a cut leaves no header, or one whose image is checked. */
static uint32_t page_of_step(uint32_t step, uint32_t pages)
{
    const uint32_t first = FP_PAGER_BLOCK_PAGES < pages ? FP_PAGER_BLOCK_PAGES : 0;
    return step < pages - first ? first + step : step - (pages - first);
}

/* An update is cut at each page, and in the middle of each page. What was there before is erased: the block
 * with the header first. Then the start or the check refuses the image, or all of it is there. */
static void cut_updates(void)
{
    static uint8_t written[sizeof(medium) / sizeof(medium[0])][sizeof(medium[0])];
    const struct image before = {FP_PAGER_IMAGE_BYTES / 3, 7, 11}, after = {FP_PAGER_IMAGE_BYTES / 2, 8, 12};
    const uint32_t pages = (after.length - 1) / FP_PAGER_FLASH_PAGE_BYTES + 1 + FP_PAGER_HEADER_PAGES;
    write_image(&after);
    memcpy(written, medium, sizeof(written));
    write_image(&before);
    memset(medium, 0xff, sizeof(medium[0]) * FP_PAGER_BLOCK_PAGES);
    expect_refusal(FP_PAGER_NO_IMAGE);
    for (uint32_t cut = 0; cut <= 2 * pages; cut++) {
        int error;
        test_at("cut %u", cut);
        memset(medium, 0xff, sizeof(medium));
        for (uint32_t step = 0; step < pages && 2 * step < cut; step++) {
            const uint32_t page = page_of_step(step, pages);
            const size_t size = 2 * step + 1 < cut ? sizeof(medium[0]) : sizeof(medium[0]) / 3;
            memcpy(medium[page], written[page], size);
        }
        error = start();
        if (!error)
            error = fp_pager_check();
        EXPECT_EQ(!error, memcmp(medium, written, sizeof(medium)) == 0);
        if (!error)
            expect_image(&after);
    }
}

#if FP_PAGER_TAG_BYTES
/* A page of another image is refused, though key, version and place are the same; and no byte stays. */
static void other_images(void)
{
    const struct image first = {FP_PAGER_IMAGE_BYTES, 7, 11}, second = {FP_PAGER_IMAGE_BYTES, 7, 12};
    const uint32_t page = 1, at = page * FP_PAGER_FLASH_PAGE_BYTES;
    uint8_t old[sizeof(medium[0])], byte;
    uint8_t *const place = medium[page + FP_PAGER_HEADER_PAGES];
    write_image(&first);
    memcpy(old, place, sizeof(old));
    write_image(&second);
    memcpy(place, old, sizeof(old));
    EXPECT_EQ(start(), 0);
    EXPECT_EQ(fp_pager_read(at, &byte, 1), FP_PAGER_FORGED);
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(stat.retries, 0);
    for (unsigned i = 0; i < FP_PAGER_FRAMES * FP_PAGER_PAGE_BYTES; i++)
        EXPECT_EQ(frames[i], 0);
    EXPECT_EQ(fp_pager_read(0, &byte, 1), 0);
    EXPECT_EQ(byte, image_byte(&second, 0));
    /* The header of the first image refuses the pages of the second. */
    write_image(&first);
    memcpy(old, medium[0], sizeof(old));
    write_image(&second);
    memcpy(medium[0], old, sizeof(old));
    EXPECT_EQ(start(), FP_PAGER_PINNED_PAGES ? FP_PAGER_FORGED : 0);
    EXPECT_EQ(fp_pager_read(at, &byte, 1), FP_PAGER_PINNED_PAGES ? FP_PAGER_OUTSIDE : FP_PAGER_FORGED);
    EXPECT_EQ(fp_pager_read(0, &byte, 1), FP_PAGER_PINNED_PAGES ? FP_PAGER_OUTSIDE : FP_PAGER_FORGED);
}
#endif

static const struct test tests[] = {
    {PAGER_TESTS "_new_images", new_images},
    {PAGER_TESTS "_altered", altered_headers},
    {PAGER_TESTS "_refused", refused_images},
    {PAGER_TESTS "_failing_reads", failing_reads},
    {PAGER_TESTS "_failed_starts", failed_starts},
    {PAGER_TESTS "_cut_updates", cut_updates},
#if FP_PAGER_TAG_BYTES
    {PAGER_TESTS "_other_images", other_images},
#endif
    {NULL, NULL},
};

TEST_LIST(tests)
