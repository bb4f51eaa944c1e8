/*
 * The store: where cache pages lie in flash
 *
 *   range_of(page)        the bytes to fetch for a page, if its flash page is loaded for it
 *
 * Functions that do nothing in the plain store:
 *
 *   find_range(range)     before each try: moves the range to where the register serves the page, or back to
 *                         the page's own home, which must be loaded then
 *   read_home_header(range)  after a load: fetches the header of a home, 0 or an error
 */
#ifndef FLASHPAGER_CORE_STORE_H
#define FLASHPAGER_CORE_STORE_H

/* The bytes that are fetched for a page: whole codewords with host ECC. */
struct fetch_range {
    fp_page page;
    fp_flash_page flash_page;
    uint_fast16_t column;      /* of the page in the flash page */
    uint_fast16_t start, stop; /* columns */
    uint_fast8_t block;        /* the block that the faulting access wants */
};

#if HAS_HOMES
#include "store_homes.h"
#else
#include "store_plain.h"
#endif

#endif
