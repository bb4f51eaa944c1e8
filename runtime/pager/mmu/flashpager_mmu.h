/*
 * flashpager pager, behind an MMU: native code in flash, run through a few frames of RAM
 *
 * For processors whose MMU faults on access to a page that is not in RAM. The program is linked as if
 * all of its code were there; each fault brings a page. The pager finds, evicts and fetches pages exactly
 * as `flashpager simulate` counts it with --reference-bit emulated.
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
 * flashpager_pager.h includes this header. The design, the errors, failures, bad blocks, codewords, tags
 * and the port to the flash chip are described there. The policies are those that need not see a hit:
 * fifo, clock, pa-clock, fifo-sc, pa-fifo-sc and random.
 *
 * Reference bits. The pager emulates those of an MMU that has none, as that of an ARM926: when the hand
 * of clock or pa-clock clears a bit, or fifo-sc moves a page to its invalid list, the page's entry
 * becomes invalid. The page stays in its frame, and the next access is a false fault: nothing is loaded.
 *
 * Schedules.
 *   - FP_PAGER_SCHEDULE_PARALLEL, the default: a load is begun, then a frame is searched, then the load
 *     is waited for.
 *   - FP_PAGER_SCHEDULE_SEQUENTIAL: the search comes before the load.
 *   - FP_PAGER_SCHEDULE_PARALLEL_MMU: while the flash loads, the victim is also unmapped and the page
 *     mapped. Nobody else may run in that address space before fp_pager_fault() returns. If the page
 *     cannot be read, the victim's page is lost, whether bytes were fetched or not.
 *
 * Critical block. With FP_PAGER_CRITICAL_BYTES the program goes on as soon as one block of the page is
 * there, the one with the byte that it wanted. Only that block is mapped, and DMA brings the rest. An
 * access to the rest faults: fp_pager_fault_at() then waits for the rest and maps the page. The next true
 * fault waits for it, too, as its page needs the bus. No count of the model changes. If the rest cannot
 * be read, its frame becomes empty, and the next fault brings the page as a whole, with retries. The MMU
 * must be able to map a page by blocks: fp_mmu_map_block().
 *
 * Equality. The handler's counts are those of `flashpager simulate` with the same design, for a
 * recording of the same program by `flashpager record`. Three things break that:
 *   - Data in pages of code: literal pools, tables of jumps. A trace of code has no reads. Let the data
 *     abort emulate the read, with the bytes of fp_pager_peek() or otherwise of the flash: then it is no
 *     reference. An entry without the right to read does not help, as the ARM926 has no execute-only
 *     page: a page that is mapped is read without a fault, and that is no reference either.
 *   - An entry that stays in the TLB after it was invalidated. The program then runs in a frame that
 *     holds another page by now.
 *   - An instruction across the end of a page, which needs both pages at once. With one frame, or one
 *     valid page, it never ends.
 *
 * Interrupts. fp_pager_fault() must not be called while it runs. Run the handler with interrupts off, or
 * with interrupt handlers that are not in paged memory and do not fault.
 *
 * Checks. With FP_PAGER_CHECKS, a call while another one runs returns FP_PAGER_BUSY. Before a fault is
 * served, all lists, entries and the page table are checked. If they contradict each other, as after a
 * stray write, the fault returns FP_PAGER_DAMAGED and changes nothing. The check takes time in proportion
 * to the pages of the image. A wrong reference bit of clock or pa-clock contradicts nothing: it costs a
 * fault. fp_flash_failed() is called when everything is as before the fault, and may fault itself.
 */
#ifndef FLASHPAGER_MMU_H
#define FLASHPAGER_MMU_H

/* Serves the fault of an access to a page. Returns 0, and the access can be tried again; or
 * FP_PAGER_OUTSIDE, the error of fp_flash_failed(), or with checks FP_PAGER_BUSY or FP_PAGER_DAMAGED. The
 * fault of a page that is mapped, for example by another processor meanwhile, changes and counts
 * nothing. */
FP_PAGER_API int fp_pager_fault(fp_page page);

#if FP_PAGER_CRITICAL_BYTES
/* Serves the fault of an access to an offset of the image, whose block comes first. */
FP_PAGER_API int fp_pager_fault_at(fp_offset offset);
#endif

/* Returns the bytes of a page if all of it is in a frame, mapped or not; otherwise NULL. This is no
 * reference. */
FP_PAGER_API const uint8_t *fp_pager_peek(fp_page page);

/*
 * The port: functions that you write for your MMU
 *
 * The pager keeps no copy of the page table: beside it, it has a page number and, for fifo-sc, two links
 * for each frame. An entry of the table has three states: no frame, a frame that faults, a frame that
 * does not.
 */

/* Returns where the pager writes the bytes of a frame. Frames are numbered from 0. */
FP_PAGER_API uint8_t *fp_mmu_bytes(uint_fast16_t frame);

/* Returns the frame of a page + 1, whether the page faults or not; 0 if it has none. */
FP_PAGER_API uint_fast16_t fp_mmu_frame(fp_page page);

/* Maps a page to a frame: accesses to it do not fault any more. Its bytes have just been written, or it
 * was invalidated before. If data is cached and code is fetched from memory, clean the data cache, and
 * invalidate the lines of that frame in the instruction cache. */
FP_PAGER_API void fp_mmu_map(fp_page page, uint_fast16_t frame);

#if FP_PAGER_CRITICAL_BYTES
/* Maps one block of a page, numbered from 0: accesses to the other blocks still fault. */
FP_PAGER_API void fp_mmu_map_block(fp_page page, uint_fast16_t frame, uint_fast8_t block);
#endif

/* Makes accesses to a page fault; it stays in its frame. Remove its entry from the TLB. */
FP_PAGER_API void fp_mmu_invalidate(fp_page page, uint_fast16_t frame);

/* Takes the frame from a page. Remove its entry from the TLB. */
FP_PAGER_API void fp_mmu_unmap(fp_page page);

/*
 * The jobs of a true fault, as docs/handler.md names them. To measure their times, the design may define
 * FP_PAGER_JOB_DONE(job), which runs at the end of each job, and FP_PAGER_STEP_DONE(), which runs for
 * each frame that the hand examines. FP_PAGER_POST_PROCESS begins when fp_pager_fault() returns.
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
