/*
 * flashpager pager, behind an MMU: native code in flash, run through a few frames of RAM
 *
 * For processors whose MMU faults where a page is not in RAM. The program is linked as if all of its
 * code were there; a fault brings a page. Pages are found, evicted and fetched exactly as
 * `flashpager simulate` counts it with --reference-bit emulated.
 *
 *     #define FP_PAGER_LOOKUP FP_PAGER_MMU            // in fp_pager_design.h
 *
 *     if (fp_pager_start() < 0) ...                   // once; nothing is mapped
 *     ...
 *     void prefetch_abort(uint32_t address)           // of your processor
 *     {
 *         if (fp_pager_fault((address - CODE) / FP_PAGER_PAGE_BYTES) < 0)
 *             ...                                     // outside of the image, or it cannot be read
 *     }
 *
 * This is the other face of flashpager_pager.h, which includes it: the design, the errors, what
 * fails, bad blocks, codewords and tags, and the port to the flash chip are the same. The policies
 * are those that need not see a hit: fifo, clock, pa-clock, fifo-sc, pa-fifo-sc and random.
 *
 * Reference bits. An MMU without any, as that of an ARM926, has them emulated: where the hand of
 * clock or pa-clock clears a bit, or fifo-sc moves a page down to invalid, the page's entry becomes
 * invalid. The page stays in its frame, and the next access is a false fault: nothing is loaded.
 *
 * Schedules. A load is started, then a frame is looked for, then the load is waited for: that is
 * FP_PAGER_SCHEDULE_PARALLEL, the default. FP_PAGER_SCHEDULE_SEQUENTIAL looks first. With
 * FP_PAGER_SCHEDULE_PARALLEL_MMU the victim is unmapped and the page mapped while the flash loads as
 * well: nobody else may run in that address space before fp_pager_fault() returns. If the page
 * cannot be read the victim's page is lost then, whether bytes were fetched or not.
 *
 * Critical block. With FP_PAGER_CRITICAL_BYTES the program goes on when so much of a page is there as has
 * the byte that it wanted: that block alone is mapped, and DMA brings the rest. An access to the rest
 * faults; fp_pager_fault_at() waits for it then, and maps the page. So does the next true fault, whose
 * own page wants the bus. No count of the model changes. Where the rest cannot be read its frame is
 * empty, and the page comes in by the next fault as a whole, with retries. The MMU has a page in blocks
 * then: fp_mmu_map_block().
 *
 * Equality. The handler's counts are those of `flashpager simulate`, with the same design, for what
 * `flashpager record` records of the same program. What breaks that:
 *   - Data in the code's pages: literal pools, tables of jumps. A trace of code has no reads. Let the
 *     data abort emulate the read, with the bytes of fp_pager_peek() or else of the flash: it is no
 *     reference then. An entry without an access right for reads does not help, as the ARM926 has
 *     no execute-only page: what is mapped is read without a fault, and that is no reference either.
 *   - An entry that stays in the TLB when it is invalidated. The program then runs in a frame
 *     that holds another page by now.
 *   - An instruction across the end of a page: it wants both pages at once. With one frame, or one
 *     valid page, it never ends.
 *
 * The handler runs with interrupts off, or with interrupt handlers that are not in paged memory and
 * do not fault: fp_pager_fault() must not be called while it runs.
 *
 * Checks. With FP_PAGER_CHECKS as 1, a call while another one runs gives FP_PAGER_BUSY; and before each
 * fault is served all lists, entries and the page table are looked at: where they contradict each
 * other, as behind a stray write, nothing is changed, and it gives FP_PAGER_DAMAGED. That takes time by
 * the pages of the image. A reference bit of clock or pa-clock that is wrong contradicts nothing: it
 * costs a fault. fp_flash_failed() is called when all is as before, and may fault.
 */
#ifndef FLASHPAGER_MMU_H
#define FLASHPAGER_MMU_H

/* An access to a page has faulted. Gives 0, and the access can be tried again; or FP_PAGER_OUTSIDE,
 * what fp_flash_failed() gave, or with checks FP_PAGER_BUSY or FP_PAGER_DAMAGED. A fault of a page that is mapped, as by an entry that another
 * processor has made valid meanwhile, changes and counts nothing. */
FP_PAGER_API int fp_pager_fault(fp_page page);

#if FP_PAGER_CRITICAL_BYTES
/* The same of an access to an offset of the image, whose block comes first. */
FP_PAGER_API int fp_pager_fault_at(fp_offset offset);
#endif

/* Give the bytes of a page if it is in a frame, mapped or not, and all of it is there; else NULL. It is
 * no reference. */
FP_PAGER_API const uint8_t *fp_pager_peek(fp_page page);

/*
 * The port: functions of yours, for your MMU. Beside the page table the pager keeps a page number
 * and, for fifo-sc, two links a frame; what the table knows it does not know again. An entry has
 * three states: no frame, a frame that faults, a frame that does not.
 */

/* Give where the bytes of a frame are, from 0, as the pager writes to them. */
FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame);

/* Give the frame of a page + 1, whether it faults or not; 0 for none. */
FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page);

/* A page is in a frame, and accesses to it do not fault any more. Its bytes have just been written,
 * or it was invalidated before: where data is cached and code is fetched from memory, clean the data
 * cache, and forget what the instruction cache has of that frame. */
FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame);

#if FP_PAGER_CRITICAL_BYTES
/* The same of a block of it alone, numbered from 0; accesses to all else of it fault. */
FP_PAGER_API void fp_mmu_map_block(fp_page page, uint_fast16_t frame, uint_fast8_t block);
#endif

/* Accesses to a page fault from now on; it stays in its frame. Forget what the TLB knows of it. */
FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame);

/* A page has no frame any more. Forget what the TLB knows of it. */
FP_PAGER_API void fp_mmu_unmap(fp_page page);

/*
 * The jobs of a true fault, for who wants their times: the design may define FP_PAGER_JOB_DONE(job)
 * as what is called at the end of each. PostProcess is what comes behind fp_pager_fault().
 */
enum fp_pager_job {
    FP_PAGER_PRE_PROCESS,
    FP_PAGER_GET_FREEFRAME,
    FP_PAGER_LOAD_STOPOVER,
    FP_PAGER_TRANS_HOST_MEM,
    FP_PAGER_UPDATE_MMU,
    FP_PAGER_POST_PROCESS,
};

#endif
