/* Pages of Linux 6.1 without a request (compat.h). */
#include "device.h"

#include <linux/pagemap.h>
#include <linux/sched/mm.h>

/* Reads or writes a page. With this operation the kernel takes a page in without its swap cache and
 * frees the slot at once, as with zram: a copy in RAM would only take room. A failure is not counted, as
 * the kernel tries again with a request. */
int fpswap_rw_page(struct block_device *device, sector_t sector, struct page *page, enum req_op op)
{
    struct fpswap *swap = device->bd_disk->private_data;
    u32 slot = sector >> PAGE_SECTORS_SHIFT;
    bool is_write = op_is_write(op);
    unsigned long start;
    unsigned int noio;
    int error;

    if (sector & (PAGE_SECTORS - 1) || PageTransHuge(page))
        return -EOPNOTSUPP;
    noio = memalloc_noio_save();
    start = bdev_start_io_acct(device, PAGE_SECTORS, op, jiffies);
    error = is_write ? fpswap_write_page(swap, slot, page) : fpswap_read_page(swap, slot, page);
    bdev_end_io_acct(device, op, start);
    memalloc_noio_restore(noio);
    if (error)
        return -EIO;
    page_endio(page, is_write, 0);
    return 0;
}
