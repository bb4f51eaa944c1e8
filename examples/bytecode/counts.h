/* Prints the pager's counts, and how much heap and stack the program used. To be included within a
 * function, where print_count() is defined. */
{
#if FP_PAGER_STATISTICS
    const struct fp_pager_stat *stat = fp_pager_stat();
    print_count(PROGRAM_TEXT("references"), stat->references);
    print_count(PROGRAM_TEXT("misses"), stat->misses);
    print_count(PROGRAM_TEXT("reference_bits_set"), stat->reference_bits_set);
    print_count(PROGRAM_TEXT("loads"), stat->loads);
    print_count(PROGRAM_TEXT("prefetches"), stat->prefetches);
    print_count(PROGRAM_TEXT("other_page"), stat->other_page);
    print_count(PROGRAM_TEXT("other_buffer"), stat->other_buffer);
    print_count(PROGRAM_TEXT("forward"), stat->forward);
    print_count(PROGRAM_TEXT("backward"), stat->backward);
    print_count(PROGRAM_TEXT("column_changes"), stat->column_changes);
    print_count(PROGRAM_TEXT("bytes_fetched"), stat->bytes_fetched);
    print_count(PROGRAM_TEXT("bytes_skipped"), stat->bytes_skipped);
    print_count(PROGRAM_TEXT("walk"), stat->walk);
    print_count(PROGRAM_TEXT("max_walk"), stat->max_walk);
#endif
    print_count(PROGRAM_TEXT("heap_bytes"), vm_heap_used());
    print_count(PROGRAM_TEXT("stack_slots"), vm_stack_used());
}
