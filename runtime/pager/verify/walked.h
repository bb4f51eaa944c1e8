/*
 * The firmware of every device: it takes runs through the pager, and prints counts
 *
 * The including file has next_run(), taken() and say(), and the pager with its chip: an emulated one, or
 * a chip that CHIP_START() starts.
 */
#ifndef FLASHPAGER_WALKED_H
#define FLASHPAGER_WALKED_H

#if FP_PAGER_CODEWORD_BYTES
/* The chip never needs a correction. */
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *word)
{
    (void)word;
    if (column % FP_PAGER_CODEWORD_BYTES || page >= CHIP_PAGES)
        CHIP_ILLEGAL("a codeword beyond the page");
    return 0;
}
#endif

#if FP_PAGER_TAG_BYTES
/* VERIFY_KEY and VERIFY_OLDEST stand in the design that verify writes. */
#include "../mac/aes_cmac.c"

static struct fp_aes_cmac mac;

FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
}

#if FP_PAGER_HEADER
FP_PAGER_API void fp_flash_image_key(const uint8_t id[FP_PAGER_ID_BYTES])
{
    static const uint8_t key[FP_AES_CMAC_KEY_BYTES] = VERIFY_KEY;
    fp_aes_cmac_key(&mac, key);
    fp_aes_cmac_image_key(&mac, id);
}
#endif

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return VERIFY_OLDEST;
}
#endif

static uint32_t taken_bytes;

/* Only tags fail here. */
FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    say("refused_page", (uint32_t)page);
    say("taken_bytes", taken_bytes);
    CHIP_ILLEGAL(error == FP_PAGER_FORGED ? "a page has the wrong tag" : "a page was refused");
    return error;
}

#ifndef AVR_JOB
#define AVR_JOB(job) ((void)0)
#endif
#ifndef CHIP_START
#define CHIP_START() chip_reset()
#define CHIP_STARTED() (chip.counts = (struct chip_counts){0, 0, 0, 0, 0, 0})
#define CHIP_IS_EMULATED 1
#else
#define CHIP_IS_EMULATED 0
#endif

/* Returns the reason of a start that failed. */
static __attribute__((noinline)) const char *start_failure(int error)
{
    switch (error) {
    case FP_PAGER_OLD: return "the image is older than the rollback counter allows";
    case FP_PAGER_NO_IMAGE: return "the flash has no image, or a damaged header";
    case FP_PAGER_DESIGN: return "the image is laid out for another design";
    case FP_PAGER_LARGE: return "the image is longer than the firmware allows";
    case FP_PAGER_FORGED: return "the header has the wrong tag";
    default: return "the pager does not start";
    }
}

static void walk(void)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    uint32_t offset = 0, length = 0;
    int error;
    CHIP_START();
#if FP_PAGER_TAG_BYTES && !FP_PAGER_HEADER
    {
        static const uint8_t key[FP_AES_CMAC_KEY_BYTES] = VERIFY_KEY;
        fp_aes_cmac_key(&mac, key);
    }
#endif
    error = fp_pager_start();
    if (error)
        CHIP_ILLEGAL(start_failure(error));
    if (FP_PAGER_HEADER)
        CHIP_STARTED();
    while (next_run(&offset, &length)) {
        fp_cursor_jump(&cursor, (fp_offset)offset);
        for (; length > 0; length--) {
            AVR_JOB(read);
            const int byte = fp_cursor_byte(&cursor);
            AVR_JOB(program);
            if (byte < 0)
                CHIP_ILLEGAL("a byte was refused");
            taken((uint8_t)byte);
            taken_bytes++;
        }
    }
}

static void say_counts(void)
{
#if FP_PAGER_STATISTICS
    const struct fp_pager_stat *counts = fp_pager_stat();
    say("references", counts->references);
    say("misses", counts->misses);
    say("reference_bits_set", counts->reference_bits_set);
    say("loads", counts->loads);
    say("prefetches", counts->prefetches);
    say("other_page", counts->other_page);
    say("other_buffer", counts->other_buffer);
    say("forward", counts->forward);
    say("backward", counts->backward);
    say("column_changes", counts->column_changes);
    say("bytes_fetched", counts->bytes_fetched);
    say("bytes_skipped", counts->bytes_skipped);
    say("tag_bytes_fetched", counts->tag_bytes_fetched);
    say("mac_bytes", counts->mac_bytes);
#if FP_PAGER_STORE == FP_PAGER_STORE_HOMES
    say("header_bytes_fetched", counts->header_bytes_fetched);
#endif
    say("walk", counts->walk);
    say("max_walk", counts->max_walk);
#endif
#if CHIP_IS_EMULATED
    say("chip_loads", chip.counts.loads);
    say("chip_prefetches", chip.counts.prefetches);
    say("chip_column_changes", chip.counts.column_changes);
    say("chip_bytes_fetched", chip.counts.bytes_fetched);
    say("chip_bytes_skipped", chip.counts.bytes_skipped);
    say("chip_tag_bytes_fetched", chip.counts.tag_bytes_fetched);
#endif
}

#endif
