/* slowchip: an MTD that passes requests on to MTD 0, with the timing of a real chip.
 *
 * nandsim and mtdram take no time. With slowchip the caller of a request sleeps as long as the chip
 * would be busy, so a VM with counted time behaves like a machine with such a chip. Requests are served one at a
 * time. Each page that is accessed is loaded or programmed whole, and transferred whole over the bus,
 * as the kernel's NAND drivers do for ECC. */
#define pr_fmt(fmt) "slowchip: " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mutex.h>

static uint page_bytes = 2048;
module_param(page_bytes, uint, 0444);
MODULE_PARM_DESC(page_bytes, "bytes that are loaded or programmed at a time");
static uint load_ns, program_ns, erase_ns;
module_param(load_ns, uint, 0444);
module_param(program_ns, uint, 0444);
module_param(erase_ns, uint, 0444);
static uint byte_ps;
module_param(byte_ps, uint, 0444);
MODULE_PARM_DESC(byte_ps, "picoseconds that a byte takes on the bus");
/* Operations so far: pages loaded and programmed, blocks erased. */
static ulong loads, programs, erasures;
module_param(loads, ulong, 0444);
module_param(programs, ulong, 0444);
module_param(erasures, ulong, 0444);

static struct mtd_info *backing_mtd; /* MTD 0, which serves the requests */
static struct mtd_info slow_mtd; /* the MTD that this module registers */
static DEFINE_MUTEX(busy);

static ulong pages_of(loff_t from, size_t bytes)
{
    u64 end = from + bytes + page_bytes - 1;

    return bytes ? div_u64(end, page_bytes) - div_u64(from, page_bytes) : 0;
}

static void take_ns(u64 ns)
{
    static u64 owed_ns;

    /* Sleep whole microseconds, and keep the remainder for later. */
    owed_ns += ns;
    if (owed_ns >= 1000) {
        u32 left;
        ulong us = div_u64_rem(owed_ns, 1000, &left);

        owed_ns = left;
        usleep_range_state(us, us, TASK_UNINTERRUPTIBLE);
    }
}

static u64 bus_ns(ulong pages)
{
    return div_u64((u64)pages * page_bytes * byte_ps, 1000);
}

static int slow_read(struct mtd_info *mtd, loff_t from, size_t bytes, size_t *done, u_char *to)
{
    ulong pages = pages_of(from, bytes);
    int error;

    mutex_lock(&busy);
    loads += pages;
    take_ns((u64)pages * load_ns + bus_ns(pages));
    error = mtd_read(backing_mtd, from, bytes, done, to);
    mutex_unlock(&busy);
    return error;
}

static int slow_write(struct mtd_info *mtd, loff_t to, size_t bytes, size_t *done,
                      const u_char *from)
{
    ulong pages = pages_of(to, bytes);
    int error;

    mutex_lock(&busy);
    programs += pages;
    take_ns((u64)pages * program_ns + bus_ns(pages));
    error = mtd_write(backing_mtd, to, bytes, done, from);
    mutex_unlock(&busy);
    return error;
}

static int slow_erase(struct mtd_info *mtd, struct erase_info *range)
{
    ulong blocks = div_u64(range->len, mtd->erasesize);
    int error;

    mutex_lock(&busy);
    erasures += blocks;
    take_ns((u64)blocks * erase_ns);
    error = mtd_erase(backing_mtd, range);
    mutex_unlock(&busy);
    return error;
}

static int slow_is_bad(struct mtd_info *mtd, loff_t at)
{
    return mtd_block_isbad(backing_mtd, at);
}

static int slow_mark_bad(struct mtd_info *mtd, loff_t at)
{
    return mtd_block_markbad(backing_mtd, at);
}

static void slow_sync(struct mtd_info *mtd)
{
    mtd_sync(backing_mtd);
}

static int __init slow_init(void)
{
    int error;

    if (page_bytes == 0)
        return -EINVAL;
    backing_mtd = get_mtd_device(NULL, 0);
    if (IS_ERR(backing_mtd)) {
        pr_err("there is no MTD 0 to pass requests on to; load nandsim or mtdram first\n");
        return PTR_ERR(backing_mtd);
    }
    slow_mtd.name = "slowchip";
    slow_mtd.owner = THIS_MODULE;
    slow_mtd.type = backing_mtd->type;
    slow_mtd.flags = backing_mtd->flags;
    slow_mtd.size = backing_mtd->size;
    slow_mtd.erasesize = backing_mtd->erasesize;
    slow_mtd.writesize = backing_mtd->writesize;
    slow_mtd.writebufsize = backing_mtd->writebufsize;
    slow_mtd._read = slow_read;
    slow_mtd._write = slow_write;
    slow_mtd._erase = slow_erase;
    slow_mtd._block_isbad = slow_is_bad;
    slow_mtd._block_markbad = slow_mark_bad;
    slow_mtd._sync = slow_sync;
    error = mtd_device_register(&slow_mtd, NULL, 0);
    if (error)
        put_mtd_device(backing_mtd);
    return error;
}

static void __exit slow_exit(void)
{
    mtd_device_unregister(&slow_mtd);
    put_mtd_device(backing_mtd);
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_DESCRIPTION("An MTD that takes a chip's time");
MODULE_LICENSE("Dual MIT/GPL");
