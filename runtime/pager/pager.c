/*
 * The core of the pager: how a page comes from flash into a frame
 *
 * fetch_page() has the steps of a fault in their order: load, search for a victim meanwhile, wait,
 * transfer, verify, install. Each kind of choice in the design has an interface in core/, whose header
 * documents its functions and includes the one variant that the design chooses. The functions are static
 * and inline, so that a choice costs neither code nor time.
 */
#include "flashpager_pager.h"

#include <string.h>

#include "core/types.h"

#include "core/counts.h"
#include "core/state.h"

#include "core/guard.h"
#include "core/mapping.h"
#include "core/pinned.h"

#include "core/held.h"
#include "core/policy.h"

#include "core/lookup.h"

#include "core/bad_blocks.h"
#include "core/codewords.h"
#include "core/register.h"
#include "core/tags.h"
#include "core/transfer.h"

#include "core/header.h"
#include "core/store.h"

#include "core/checks.h"

/* Searches a frame for the page in the first attempt. Later attempts keep it. */
static inline void find_victim(fp_page page, struct victim_search *search, uint_fast8_t tries)
{
    if (!tries && !is_pinned(page))
        select_victim(search);
    JOB_DONE(FP_PAGER_GET_FREEFRAME);
}

/* Enters a page that was fetched into the frame that the search found. */
static inline void install_page(fp_page page, const struct victim_search *search)
{
    const frame_t frame = frame_at(search->place);
    const int all_used = pager.used == FP_PAGER_FRAMES;
    pager.entry[frame] = (entry_t)(page | INSERTED_BIT);
    if (!all_used)
        pager.used++;
    page_installed(search, all_used);
    remember_page(page, frame);
    count_walk(search->walk);
}

/* Transfers and verifies a page that the chip holds. The victim's page is lost from here on. */
static inline int transfer_page(const struct fetch_range *range, const struct victim_search *search,
                                int loaded)
{
    const fp_page page = range->page;
    const uint_fast16_t size = range->stop - range->start;
    uint8_t *frame = pinned_bytes(page);
    uint8_t *fetched;
    int error;
    if (!is_pinned(page)) {
        const frame_t victim = frame_at(search->place);
        if (!SCHEDULE_IS(PARALLEL_MMU))
            evict_frame(victim);
        frame = frame_bytes(victim);
    }
    seek_column(range->start, loaded);
    fetched = fetch_target(frame);
    load_next(range->flash_page);
    error = fetch_bytes(page, frame_at(search->place), range->block, range->start, fetched, size);
    FP_PAGER_COUNT_(bytes_fetched, size);
    error = correct(range->flash_page, range->start, fetched, size, error);
    if (FP_PAGER_TAG_BYTES && !error)
        error = check_tag(range->flash_page, range->start, fetched, size);
    if (FP_PAGER_TAG_BYTES && error)
        memset(fetched, 0, size); /* no unchecked byte stays in RAM */
    if (HAS_CODEWORD_BUFFER && fetched != frame && !error)
        copy_page(frame, fetched + (range->column - range->start));
    return error;
}

/* Fetches a page. Returns 0, or an error, for which the caller calls fp_flash_failed(). Never inlined: a
 * hit would save and restore the registers that a fetch needs. */
static FP_PAGER_OUT_OF_LINE_ int fetch_page(fp_page page)
{
    uint_fast8_t tries = 0;
    struct victim_search search = {0};
    fetch_range_t range = range_of(page);
    const counts_snapshot before = counts_before_fetch();
    for (;;) {
        int error = FP_PAGER_OK;
        int load;
        if (HAS_HOMES)
            find_range(&range);
        load = turn_register(range.flash_page, range.start);
        JOB_DONE(FP_PAGER_PRE_PROCESS);
        if (SCHEDULE_IS(SEQUENTIAL))
            find_victim(page, &search, tries);
        if (load) {
            FP_PAGER_COUNT_(loads, 1);
            load_register(range.flash_page, range.start);
        }
        if (!SCHEDULE_IS(SEQUENTIAL))
            find_victim(page, &search, tries);
        if (SCHEDULE_IS(PARALLEL_MMU) && !tries) {
            evict_frame(frame_at(search.place));
            map_early(page, frame_at(search.place), range.block);
            JOB_DONE(FP_PAGER_UPDATE_MMU);
        }
        if (load)
            error = fp_flash_wait();
        JOB_DONE(FP_PAGER_LOAD_STOPOVER);
        pager.held = NO_FLASH_PAGE;
        /* A rest holds the bus; and a load that is tried again would go into its buffer. */
        finish_rest();
        if (HAS_HOMES && load && !error)
            error = read_home_header(&range);
        if (!error)
            error = transfer_page(&range, &search, load);
        if (!error)
            break;
        forget_other_buffer();
        restore_counts(&before);
        if (!is_refused(error) && tries++ != FP_PAGER_RETRIES) {
            FP_PAGER_COUNT_(retries, 1);
            continue;
        }
        FP_PAGER_COUNT_(failures, 1);
        if (SCHEDULE_IS(PARALLEL_MMU))
            unmap_page(page);
        if (!is_pinned(page))
            rollback_search(&search);
        return pager.error = error;
    }
    JOB_DONE(FP_PAGER_TRANS_HOST_MEM);
    pager.held = range.flash_page;
    pager.column = range.stop;
    page_has_come();
    if (!is_pinned(page))
        install_page(page, &search);
    if (!SCHEDULE_IS(PARALLEL_MMU))
        JOB_DONE(FP_PAGER_UPDATE_MMU);
    return FP_PAGER_OK;
}

#include "core/collapse.h"
#include "core/interface.h"

#include "core/image_check.h"

static inline int start_pager(void)
{
    int error;
    memset(&pager, 0, sizeof(pager));
    set_serving(1);
    set_context();
    reset_counts();
    for (frame_t frame = 0; frame < FP_PAGER_FRAMES; frame++) {
        pager.entry[frame] = NO_PAGE;
        start_place(frame);
    }
    part_references();
    start_rest();
    start_policy();
    settle_register();
    error = find_image();
    if (!error)
        error = start_tags();
    if (error)
        return error;
    pager.held = NO_FLASH_PAGE;
    forget_other_buffer();
    for (fp_page page = 0; is_pinned(page) && (!FP_PAGER_HEADER || page < IMAGE_PAGES); page++) {
        while ((error = fetch_page(page)) != 0) {
            error = fp_flash_failed(page, error);
            if (error) {
                close_image();
                return error;
            }
        }
    }
    if (FP_PAGER_PINNED_PAGES) {
        pager.held = NO_FLASH_PAGE;
        forget_other_buffer();
        reset_counts();
    }
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_pager_start(void)
{
    int error = enter_pager();
    if (error)
        return error;
    error = start_pager();
    leave_pager();
    return error;
}
