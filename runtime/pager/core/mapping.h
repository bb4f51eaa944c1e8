/*
 * Mapping: how a program reaches the bytes of a frame
 *
 *   frame_bytes(frame)             where the bytes of a frame are
 *   map_page(page, frame)          accesses to the page succeed from now on
 *   map_early(page, frame, block)  the same before its bytes are there; by blocks, of this block
 *   invalidate_page(page, frame)   accesses to the page fault from now on; it stays in its frame
 *   unmap_page(page)               the page is in no frame any more
 *
 * Without an MMU a program calls the pager for each access, so that nothing is mapped.
 */
#ifndef FLASHPAGER_CORE_MAPPING_H
#define FLASHPAGER_CORE_MAPPING_H

#if !HAS_MMU
#include "mapping_none.h"
#elif !HAS_CRITICAL_BLOCK
#include "mapping_pages.h"
#else
#include "mapping_blocks.h"
#endif

#endif
