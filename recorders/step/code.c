/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"
#include "tracee.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes a MAP record to the stream, once for each mapping. */
static void report_map(const struct region *region, const char *path)
{
    for (size_t i = 0; i < current->reported_map_count; i++) {
        const struct reported_map *map = &current->reported_maps[i];
        if (map->start == region->start && map->end == region->end &&
            map->offset == region->offset && strcmp(map->path, path) == 0) {
            return;
        }
    }
    current->reported_maps =
        grow(current->reported_maps, current->reported_map_count, sizeof *current->reported_maps);
    char *copy = strdup(path);
    if (copy == NULL) {
        refuse("the stepper is out of memory");
    }
    current->reported_maps[current->reported_map_count++] =
        (struct reported_map){ region->start, region->end, region->offset, copy };
    put_map(region->start, region->end, region->offset, path);
}

/* Reads the current process's mappings from /proc/ID/maps. */
static void read_regions(void)
{
    char line[PATH_BYTES + 128];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)current->id);
    FILE *maps = fopen(line, "re");
    current->region_count = 0;
    if (maps == NULL) {
        return;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long start, end, offset, inode;
        char access[5];
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &start, &end, access, &offset, &inode,
                   &path_at) < 5) {
            continue;
        }
        struct region region = { start, end, offset, access[2] == 'x',
                                 access[1] != 'w' && access[3] == 'p' };
        current->regions = grow(current->regions, current->region_count, sizeof *current->regions);
        current->regions[current->region_count++] = region;
        if (region.is_executable && inode != 0 && path_at != 0) {
            report_map(&region, line + path_at);
        }
    }
    fclose(maps);
    current->regions_are_stale = false;
}

static const struct region *find_region(uint64_t address)
{
    for (size_t i = 0; i < current->region_count; i++) {
        if (address >= current->regions[i].start && address < current->regions[i].end) {
            return &current->regions[i];
        }
    }
    return NULL;
}

const struct region *region_at(uint64_t address)
{
    if (current->regions_are_stale) {
        read_regions();
    }
    const struct region *region = find_region(address);
    if (region == NULL) {
        read_regions(); /* a process that shares the memory has mapped it */
        region = find_region(address);
    }
    return region;
}

/* Reads up to `bytes` from one page of code. Returns the number of bytes read. */
static size_t read_page(uint64_t address, unsigned char *into, size_t bytes)
{
    uint64_t start = address & ~(PAGE - 1);
    size_t place = start / PAGE % (sizeof current->pages / sizeof *current->pages);
    struct code_page *page = &current->pages[place];
    if (page->address != start || page->age != current->age || current->regions_are_stale) {
        const struct region *region = region_at(address);
        if (region == NULL) {
            return 0;
        }
        if (!region->is_constant) {
            ssize_t got = pread(current->memory, into, bytes, (off_t)address);
            return got > 0 ? (size_t)got : 0;
        }
        page->age = 0;
        if (pread(current->memory, page->bytes, PAGE, (off_t)start) != (ssize_t)PAGE) {
            return 0;
        }
        page->address = start;
        page->age = current->age;
    }
    memcpy(into, page->bytes + address % PAGE, bytes);
    return bytes;
}

struct instruction instruction_at(uint64_t address)
{
    struct instruction it = { .address = address };
    size_t here = PAGE - address % PAGE, all = sizeof it.code;
    size_t got = read_page(address, it.code, here < all ? here : all);
    if (got == here && here < all) {
        /* The next page is read only if the instruction reaches there. */
        decode(&it, got);
        if (it.bytes == 0) {
            got += read_page(address + here, it.code + here, all - here);
        }
    }
    decode(&it, got);
    return it;
}
