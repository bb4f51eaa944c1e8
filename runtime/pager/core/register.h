/*
 * The register model: what the chip holds, and how a column of it is reached
 *
 *   turn_register(page, start)   makes a flash page of the store the one that is fetched from: 1 if it
 *                                must be loaded, or loaded again for an earlier column
 *   load_register(page, start)   begins to load it
 *   seek_column(start, loaded)   goes to the column where fetching begins
 *   load_next(page)              with prefetch: begins to load the flash page behind it
 *   forget_other_buffer()        the page in the other buffer, if there is one, is not used
 *   settle_register()            at the start: waits for what an earlier run began
 *
 * `page` is a flash page of the store, `start` the column where fetching begins. A load of a home begins at
 * column 0, where its header stands.
 */
#ifndef FLASHPAGER_CORE_REGISTER_H
#define FLASHPAGER_CORE_REGISTER_H

/* Counts in which direction the column of a page moves that is held already. */
static inline void count_direction(uint_fast16_t start)
{
    if (start >= pager.column)
        FP_PAGER_COUNT_(forward, 1);
    else
        FP_PAGER_COUNT_(backward, 1);
}

#if HAS_TWO_BUFFERS
#include "register_buffers.h"
#elif REGISTER_IS(RANDOM_COLUMN)
#include "register_column.h"
#else
#include "register_skip.h"
#endif

#endif
