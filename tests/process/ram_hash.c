/* Tests that the hash of a page in RAM changes with the page. Prints the number of missed changes, and
 * of all tried ones. */
#include "../../runtime/linux/hash.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_BYTES 4096u
#define BITS (8u * PAGE_BYTES)
#define WORD_BITS (8u * sizeof(unsigned long))

static uint8_t page[PAGE_BYTES];
static unsigned long tried;
static unsigned long missed;
static uint32_t expected_hash;

static void flip(unsigned long bit)
{
    page[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
}

/* Counts a change of the page, and whether the hash misses it. */
static void check_change(void)
{
    tried++;
    missed += fpswap_hash(1, page, PAGE_BYTES) == expected_hash;
}

int main(void)
{
    srand(1);
    for (size_t at = 0; at < PAGE_BYTES; at++)
        page[at] = (uint8_t)rand();
    expected_hash = fpswap_hash(1, page, PAGE_BYTES);
    /* Flip each bit alone, and then with the same bit of a later word, in the same or another lane. */
    for (unsigned long bit = 0; bit < BITS; bit++) {
        flip(bit);
        check_change();
        for (unsigned long words = 1; words <= 8; words += words > 3 ? 4 : 1) {
            unsigned long other = bit + words * WORD_BITS;

            if (other >= BITS)
                continue;
            flip(other);
            check_change();
            flip(other);
        }
        flip(bit);
    }
    /* Replace runs of bytes by random ones or zeros. */
    for (int round = 0; round < 20000; round++) {
        static uint8_t kept[PAGE_BYTES];
        size_t start = (size_t)rand() % PAGE_BYTES;
        size_t size = (size_t)rand() % (PAGE_BYTES - start) + 1u;

        memcpy(kept, page, PAGE_BYTES);
        for (size_t at = start; at < start + size; at++)
            page[at] = round % 2 ? 0 : (uint8_t)rand();
        if (memcmp(kept, page, PAGE_BYTES) != 0)
            check_change();
        memcpy(page, kept, PAGE_BYTES);
    }
    /* Exchange two words. */
    for (int round = 0; round < 20000; round++) {
        unsigned long *words = (unsigned long *)(void *)page;
        size_t one = (size_t)rand() % (PAGE_BYTES / sizeof(*words));
        size_t two = (size_t)rand() % (PAGE_BYTES / sizeof(*words));
        unsigned long word = words[one];

        if (words[two] == word)
            continue;
        words[one] = words[two];
        words[two] = word;
        check_change();
        words[two] = words[one];
        words[one] = word;
    }
    /* Hash the page for other slots, and pages of other lengths. */
    for (uint32_t slot = 2; slot < 20000; slot++) {
        tried++;
        missed += fpswap_hash(slot, page, PAGE_BYTES) == expected_hash;
    }
    memset(page, 0, PAGE_BYTES);
    expected_hash = fpswap_hash(1, page, PAGE_BYTES);
    for (uint32_t size = 0; size < PAGE_BYTES; size++) {
        tried++;
        missed += fpswap_hash(1, page, size) == expected_hash;
    }
    printf("missed %lu of %lu\n", missed, tried);
    return missed != 0;
}
