/*
 * The transfer: how the bytes of a page come out of the chip
 *
 *   wanted_block()               the block that the faulting access wants, if pages come by blocks
 *   fetch_bytes(page, frame, block, start, to, size)  fetches `size` bytes from column `start`: 0 or
 *                                an error
 *   page_has_come()              a page was fetched without an error
 *
 * The rest is what is still on its way of a page whose critical block has come:
 *
 *   start_rest()                 at the start: waits for a rest that an earlier run began
 *   finish_rest()                waits for the rest, if there is one: the bus is free then
 *   is_rest_page(page)           1 if the page has a rest
 *   is_rest_wanted(page)         1 if the faulting access is to the rest of the page
 *   has_rest_come()              1 if finish_rest() need not wait
 *   is_rest_consistent()         0 if what is kept of the rest cannot be
 */
#ifndef FLASHPAGER_CORE_TRANSFER_H
#define FLASHPAGER_CORE_TRANSFER_H

#if HAS_CRITICAL_BLOCK
#include "transfer_block.h"
#else
#include "transfer_whole.h"
#endif

#endif
