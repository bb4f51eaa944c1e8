/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "plugin.h"

#include <stdlib.h>

static struct ranges guest_known; /* guest addresses that need no MAP record any more */
static struct ranges host_own;    /* QEMU's own files */

bool in_ranges(const struct ranges *ranges, uint64_t address)
{
    for (size_t i = 0; i < ranges->count; i++) {
        if (address >= ranges->items[i].start && address < ranges->items[i].end) {
            return true;
        }
    }
    return false;
}

bool add_range(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
        struct range *grown = realloc(ranges->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        ranges->items = grown;
        ranges->capacity = capacity;
    }
    ranges->items[ranges->count++] = (struct range){ start, end };
    return true;
}

struct mapped_file {
    uint64_t start; /* host address */
    uint64_t end;
    uint64_t offset; /* in the file */
    const char *path;
};

/* Calls `take` for every file mapped into this process. */
static void for_each_mapped_file(void (*take)(const struct mapped_file *file, uint64_t argument),
                                 uint64_t argument)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return;
    }
    char line[STREAM_PATH_BYTES + 128];
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long start, end, offset, inode;
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %*s %llx %*s %llu %n", &start, &end, &offset, &inode,
                   &path_at) >= 4 && inode != 0 && path_at != 0) {
            take(&(struct mapped_file){ start, end, offset, line + path_at }, argument);
        }
    }
    fclose(maps);
}

static void keep_own_file(const struct mapped_file *file, uint64_t unused)
{
    (void)unused;
    add_range(&host_own, file->start, file->end);
}

void remember_own_files(void)
{
    for_each_mapped_file(keep_own_file, 0);
}

/* Puts a MAP record for a file in guest memory, once. Host addresses are guest
 * addresses plus `guest_base`. */
static void put_guest_file(const struct mapped_file *file, uint64_t guest_base)
{
    if (file->start < guest_base || strlen(file->path) > STREAM_PATH_BYTES ||
        in_ranges(&host_own, file->start) || in_ranges(&guest_known, file->start - guest_base) ||
        !add_range(&guest_known, file->start - guest_base, file->end - guest_base)) {
        return;
    }
    stream_put_map(&stream, file->start - guest_base, file->end - guest_base, file->offset,
                   file->path);
}

void report_guest_files(uint64_t address, const struct qemu_plugin_insn *instruction)
{
    if (in_ranges(&guest_known, address)) {
        return;
    }
    uint64_t host = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(instruction);
    for_each_mapped_file(put_guest_file, host - address);
    if (!in_ranges(&guest_known, address)) {
        /* The code has no file (vdso, a JIT), so its page is not searched again. */
        add_range(&guest_known, address & ~UINT64_C(4095), (address | UINT64_C(4095)) + 1);
    }
}
