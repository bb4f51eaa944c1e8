/* Memory as a medium of the store. */
#include "fpswap.h"

#include <linux/highmem.h>
#include <linux/vmalloc.h>

/* The geometry of a common NAND, for a log. */
#define LOG_PROGRAM_BYTES 2048u
#define LOG_BLOCK_BYTES 131072u

static size_t page_at(const struct fpswap_ram *ram, u32 block, u32 offset)
{
    return (size_t)block * (ram->medium.block_bytes >> PAGE_SHIFT) + (offset >> PAGE_SHIFT);
}

static int ram_read(void *context, u32 block, u32 offset, void *data, u32 size)
{
    struct fpswap_ram *ram = context;
    u8 *bytes = data;

    while (size > 0) {
        u32 start = offset_in_page(offset);
        u32 part = min_t(u32, size, PAGE_SIZE - start);
        struct page *page = ram->pages[page_at(ram, block, offset)];

        if (page)
            memcpy_from_page(bytes, page, start, part);
        else
            memset(bytes, 0xff, part);
        bytes += part;
        offset += part;
        size -= part;
    }
    return FP_MEDIUM_OK;
}

static int ram_program(void *context, u32 block, u32 offset, const void *data, u32 size)
{
    struct fpswap_ram *ram = context;
    const u8 *bytes = data;

    while (size > 0) {
        u32 start = offset_in_page(offset);
        u32 part = min_t(u32, size, PAGE_SIZE - start);
        struct page **page = &ram->pages[page_at(ram, block, offset)];

        if (!*page) {
            /* The kernel calls this under memory pressure, to relieve it. So the allocation starts no I/O,
             * and fails instead of waiting with the store's lock. */
            *page = alloc_page(GFP_NOIO | __GFP_HIGHMEM | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
            if (!*page)
                return FP_MEDIUM_IO;
            ram->used_max = max(ram->used_max, atomic_long_inc_return(&ram->used));
        }
        memcpy_to_page(*page, start, bytes, part);
        bytes += part;
        offset += part;
        size -= part;
    }
    return FP_MEDIUM_OK;
}

static void ram_release(void *context, u32 block)
{
    struct fpswap_ram *ram = context;
    u32 offset;

    for (offset = 0; offset < ram->medium.block_bytes; offset += PAGE_SIZE) {
        struct page **page = &ram->pages[page_at(ram, block, offset)];

        if (*page) {
            __free_page(*page);
            *page = NULL;
            atomic_long_dec(&ram->used);
        }
    }
}

static int ram_erase(void *context, u32 block)
{
    ram_release(context, block);
    return FP_MEDIUM_OK;
}

static bool ram_is_bad(void *context, u32 block)
{
    return false;
}

static int ram_mark_bad(void *context, u32 block)
{
    return FP_MEDIUM_IO;
}

int fpswap_ram_open(struct fpswap_ram *ram, u64 bytes, bool log)
{
    ram->medium = (struct fp_medium){
        .context = ram,
        .read = ram_read,
        .program = ram_program,
        .program_bytes = log ? LOG_PROGRAM_BYTES : 1,
        .block_bytes = log ? LOG_BLOCK_BYTES : PAGE_SIZE,
    };
    if (log) {
        ram->medium.erase = ram_erase;
        ram->medium.is_bad = ram_is_bad;
        ram->medium.mark_bad = ram_mark_bad;
    } else {
        ram->medium.release = ram_release;
    }
    ram->medium.block_count = div_u64(bytes, ram->medium.block_bytes);
    ram->count = page_at(ram, ram->medium.block_count, 0);
    ram->pages = fpswap_table(ram->count * sizeof(*ram->pages));
    return ram->pages ? 0 : -ENOMEM;
}

void fpswap_ram_close(struct fpswap_ram *ram)
{
    u32 block;

    if (!ram->pages)
        return;
    for (block = 0; block < ram->medium.block_count; block++)
        ram_release(ram, block);
    vfree(ram->pages);
    ram->pages = NULL;
}
