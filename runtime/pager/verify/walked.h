/* What the firmware of every device does: take runs, tell counts. The file that includes it has
 * next_run(), taken() and say(), and the pager with its chip: an emulated one, or CHIP_START(). */
#ifndef FLASHPAGER_WALKED_H
#define FLASHPAGER_WALKED_H

#if FP_PAGER_CODEWORD_BYTES
/* Nothing is wrong ever. */
FP_PAGER_API int fp_flash_correct(fp_flash_page page, uint_fast16_t column, uint8_t *word)
{
    (void)word;
    if (column % FP_PAGER_CODEWORD_BYTES || page >= CHIP_PAGES)
        CHIP_ILLEGAL("a codeword that is none");
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

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return VERIFY_OLDEST;
}
#endif

static uint32_t taken_bytes;

/* Nothing fails here but a tag. */
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
#define CHIP_IS_EMULATED 1
#else
#define CHIP_IS_EMULATED 0
#endif

static void walk(void)
{
    struct fp_cursor cursor = {NULL, NULL, 0};
    uint32_t offset = 0, length = 0;
    int error;
    CHIP_START();
#if FP_PAGER_TAG_BYTES
    {
        static const uint8_t key[FP_AES_CMAC_KEY_BYTES] = VERIFY_KEY;
        fp_aes_cmac_key(&mac, key);
    }
#endif
    error = fp_pager_start();
    if (error)
        CHIP_ILLEGAL(error == FP_PAGER_OLD ? "the image is older than the rollback counter allows"
                                           : "the pager does not start");
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
    const struct fp_pager_stat *of = fp_pager_stat();
    say("references", of->references);
    say("misses", of->misses);
    say("reference_bits_set", of->reference_bits_set);
    say("loads", of->loads);
    say("prefetches", of->prefetches);
    say("other_page", of->other_page);
    say("other_buffer", of->other_buffer);
    say("forward", of->forward);
    say("backward", of->backward);
    say("column_changes", of->column_changes);
    say("bytes_fetched", of->bytes_fetched);
    say("bytes_skipped", of->bytes_skipped);
    say("tag_bytes_fetched", of->tag_bytes_fetched);
    say("mac_bytes", of->mac_bytes);
    say("walk", of->walk);
    say("max_walk", of->max_walk);
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
