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

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
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
    CHIP_START();
    if (fp_pager_start())
        CHIP_ILLEGAL("the pager does not start");
    while (next_run(&offset, &length)) {
        fp_cursor_jump(&cursor, (fp_offset)offset);
        for (; length > 0; length--) {
            AVR_JOB(read);
            const int byte = fp_cursor_byte(&cursor);
            AVR_JOB(program);
            if (byte < 0)
                CHIP_ILLEGAL("a byte was refused");
            taken((uint8_t)byte);
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
    say("walk", of->walk);
    say("max_walk", of->max_walk);
#endif
#if CHIP_IS_EMULATED
    say("chip_loads", chip.counts.loads);
    say("chip_prefetches", chip.counts.prefetches);
    say("chip_column_changes", chip.counts.column_changes);
    say("chip_bytes_fetched", chip.counts.bytes_fetched);
    say("chip_bytes_skipped", chip.counts.bytes_skipped);
#endif
}

#endif
