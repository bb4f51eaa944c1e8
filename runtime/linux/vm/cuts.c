/* cuts swap|write DEVICE FIRST SLOTS SYNCED: check pages after a power cut.
 * SLOTS pages of DEVICE, from page FIRST on, were written by a numbered sequence of writes. All writes up
 * to number SYNCED were flushed. Finds the last write that the device still has, and compares every page
 * with its contents after that write. With `write`, continues the sequence until the power is cut.
 * Prints:
 *     moment NUMBER wrong PAGES    the last write found, and how many pages differ
 *     busy                         writing begins
 *     synced NUMBER                all writes up to this one are flushed
 * The number of a write determines its page, and the page contains the number. The exit code is 1 if a
 * page is wrong, if a flushed write is missing, or if a write fails. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define WORDS (PAGE_BYTES / sizeof(uint64_t))
#define SLOTS_MOST 65536u
#define WRITES_A_FLUSH 40u

static _Alignas(PAGE_BYTES) uint64_t page[WORDS];
static _Alignas(PAGE_BYTES) uint64_t want[WORDS];
static uint64_t held[SLOTS_MOST];

static uint64_t mixed(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Makes the page that a write leaves; a fourth of it is random. Number 0 is a page never written. */
static void make(uint64_t *words, uint64_t number)
{
    words[0] = number;
    for (size_t i = 1; i < WORDS; i++)
        words[i] = number ? mixed(number * WORDS + (i % 4 ? 1 : i)) : 0;
}

int main(int count, char **arguments)
{
    if (count != 6)
        return 2;
    off_t first = strtoll(arguments[3], NULL, 10);
    uint64_t slots = strtoull(arguments[4], NULL, 10);
    uint64_t synced = strtoull(arguments[5], NULL, 10);
    uint64_t moment = 0;
    uint64_t wrong = 0;
    int device = open(arguments[2], O_RDWR | O_DIRECT);

    if (device < 0 || slots == 0 || slots > SLOTS_MOST)
        return 2;
    for (uint64_t slot = 0; slot < slots; slot++) {
        if (pread(device, page, PAGE_BYTES, (first + (off_t)slot) * PAGE_BYTES) != PAGE_BYTES) {
            wrong++;
            continue;
        }
        make(want, page[0]);
        wrong += memcmp(page, want, PAGE_BYTES) != 0;
        held[slot] = page[0];
        if (page[0] > moment)
            moment = page[0];
    }
    /* From the last write back to the first: each page must hold the last write to it. */
    for (uint64_t number = moment; number > 0; number--) {
        uint64_t slot = mixed(~number) % slots;

        if (held[slot] != UINT64_MAX)
            wrong += held[slot] != number;
        held[slot] = UINT64_MAX;
    }
    for (uint64_t slot = 0; slot < slots; slot++)
        wrong += held[slot] != UINT64_MAX && held[slot] != 0;
    printf("moment %llu wrong %llu\n", (unsigned long long)moment, (unsigned long long)wrong);
    fflush(stdout);
    if (wrong || moment < synced)
        return 1;
    if (strcmp(arguments[1], "write") != 0)
        return 0;
    printf("busy\n");
    for (uint64_t number = moment + 1;; number++) {
        off_t slot = (off_t)(mixed(~number) % slots);

        make(page, number);
        if (pwrite(device, page, PAGE_BYTES, (first + slot) * PAGE_BYTES) != PAGE_BYTES)
            break;
        if (number % WRITES_A_FLUSH == 0) {
            if (fsync(device) != 0)
                break;
            printf("synced %llu\n", (unsigned long long)number);
            fflush(stdout);
        }
    }
    printf("write failed\n");
    return 1;
}
