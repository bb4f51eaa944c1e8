/* Says all that the pager counted, and what the program used: within a function that has say(). */
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
    say("heap_bytes", vm_heap_used());
    say("stack_slots", vm_stack_used());
}
