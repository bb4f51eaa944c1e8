/* Says all that the pager counted, and what the program used: within a function that has say(). */
{
#if FP_PAGER_STATISTICS
    const struct fp_pager_stat *of = fp_pager_stat();
    say(PROGRAM_TEXT("references"), of->references);
    say(PROGRAM_TEXT("misses"), of->misses);
    say(PROGRAM_TEXT("reference_bits_set"), of->reference_bits_set);
    say(PROGRAM_TEXT("loads"), of->loads);
    say(PROGRAM_TEXT("prefetches"), of->prefetches);
    say(PROGRAM_TEXT("other_page"), of->other_page);
    say(PROGRAM_TEXT("other_buffer"), of->other_buffer);
    say(PROGRAM_TEXT("forward"), of->forward);
    say(PROGRAM_TEXT("backward"), of->backward);
    say(PROGRAM_TEXT("column_changes"), of->column_changes);
    say(PROGRAM_TEXT("bytes_fetched"), of->bytes_fetched);
    say(PROGRAM_TEXT("bytes_skipped"), of->bytes_skipped);
    say(PROGRAM_TEXT("walk"), of->walk);
    say(PROGRAM_TEXT("max_walk"), of->max_walk);
#endif
    say(PROGRAM_TEXT("heap_bytes"), vm_heap_used());
    say(PROGRAM_TEXT("stack_slots"), vm_stack_used());
}
