/* fill MEGABYTES ROUNDS: fills memory with distinct pages. In each round it compares pages with their
 * expected contents and changes some of them. Prints how many pages were wrong; the exit code is 1 if
 * any was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
#define WORDS (PAGE_BYTES / sizeof(uint64_t))

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Makes a page. In each 16 pages, one is filled with one word, one is random, and the others are one
 * sixth random. */
static void make(uint64_t *words, uint64_t page, uint64_t version)
{
    uint64_t state = page * 1000003u + version;
    uint64_t word = next(&state);

    for (size_t i = 0; i < WORDS; i++)
        words[i] = page % 16 && (page % 16 == 1 || i % 6 == 0) ? next(&state) : word;
}

int main(int count, char **arguments)
{
    static uint64_t want[WORDS];
    if (count != 3)
        return 2;
    size_t pages = (size_t)atoi(arguments[1]) * 256;
    int rounds = atoi(arguments[2]);
    uint64_t (*memory)[WORDS] = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *version = calloc(pages, 1);
    uint64_t state = 1;
    long wrong = 0;

    if (memory == MAP_FAILED || !version)
        return 2;
    for (size_t page = 0; page < pages; page++)
        make(memory[page], page, 0);
    for (int round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < pages; i++) {
            /* The last round reads all pages. */
            size_t page = round % 2 == rounds % 2 ? i : next(&state) % pages;
            make(want, page, version[page]);
            wrong += memcmp(want, memory[page], PAGE_BYTES) != 0;
            if (round < rounds && next(&state) % 4 == 0)
                make(memory[page], page, ++version[page]);
        }
    }
    printf("wrong pages %ld of %zu\n", wrong, pages);
    return wrong != 0;
}
