/* flashpager-swap: the store as block devices /dev/fpswap0, 1, ... to swap to. */
#define pr_fmt(fmt) "flashpager-swap: " fmt

#include "fpswap.h"
#include "hash.h"

#include <linux/blkdev.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/platform_device.h>
#include <linux/reboot.h>
#include <linux/sched/mm.h>
#include <linux/suspend.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#if PAGE_SHIFT != 12
#error "flashpager-swap: only kernels with pages of 4096 bytes"
#endif

/* Slots freed, or steps of collection, before others get the lock. */
#define WORK_STEPS 64
#define DEVICES_MAX 16

static char *medium = "ram";
module_param(medium, charp, 0644);
MODULE_PARM_DESC(medium, "ram (default), or mtd:NAME or mtd:NUMBER of /proc/mtd");
static bool format;
module_param(format, bool, 0644);
MODULE_PARM_DESC(format, "make an empty store on the MTD, once: what it holds is lost");
static char *layout = "auto";
module_param(layout, charp, 0644);
MODULE_PARM_DESC(layout, "fragments where the medium rewrites in place, else log (auto); or rewrite");
static char *compressor = "lz4";
module_param(compressor, charp, 0644);
MODULE_PARM_DESC(compressor, "one of the kernel's: lz4 (default), deflate, zstd, ...; or none");
static char *medium_size = "";
module_param(medium_size, charp, 0644);
MODULE_PARM_DESC(medium_size, "bytes for compressed pages, as 64M; default a quarter of all memory, all of an MTD");
static char *disk_size = "";
module_param(disk_size, charp, 0644);
MODULE_PARM_DESC(disk_size, "size of the device, as 192M; default three times medium_size");
static uint reserve;
module_param(reserve, uint, 0644);
MODULE_PARM_DESC(reserve, "log: erase blocks kept free; 0 (default): as many as must be");
static uint devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "devices of this kind, 1 to 16");

struct fpswap {
    struct gendisk *disk;
    struct fpswap_ram ram;
    struct fpswap_mtd *mtd;           /* NULL: the medium is `ram` */
    struct fp_swap_rewriter rewriter; /* where that stands before the MTD */
    struct fp_swap_config config;
    struct fpswap_codec __percpu *codecs;
    struct mutex lock; /* of the store */
    struct fp_swap store;
    unsigned long *freed; /* slots that the kernel has no more use for */
    struct delayed_work work;
    struct work_struct served; /* of an MTD: serves the requests that wait */
    struct bio_list waiting;
    spinlock_t waiting_lock;
    struct dentry *debug;
    bool is_going; /* it is being removed: nobody may open it */
    atomic64_t failed_reads;
    atomic64_t failed_writes;
    atomic64_t invalid_io;
    atomic64_t notify_free;
};

static struct fpswap *all[DEVICES_MAX];
static DEFINE_MUTEX(all_lock);
static struct workqueue_struct *workers;
static struct dentry *debug_root;
static int major;
static bool imaging; /* whoever writes now writes an image of memory before the power goes */

static u32 kernel_crc(u32 crc, const void *data, size_t size)
{
    return ~crc32_le(~crc, data, size);
}

static u32 ram_hash(u32 seed, const void *data, size_t size)
{
    return fpswap_hash(seed, data, size);
}

/* Free what was noted, at most `steps` slots of it. With the lock. Whether there is more. */
static bool free_noted(struct fpswap *swap, unsigned int steps)
{
    u32 slots = swap->config.slot_count;
    unsigned long slot;

    for (slot = find_first_bit(swap->freed, slots); slot < slots;
         slot = find_next_bit(swap->freed, slots, slot + 1)) {
        if (steps-- == 0)
            return true;
        if (test_and_clear_bit(slot, swap->freed))
            (void)fp_swap_free(&swap->store, slot);
    }
    return false;
}

static void work(struct work_struct *work)
{
    struct fpswap *swap = container_of(to_delayed_work(work), struct fpswap, work);
    unsigned int noio = memalloc_noio_save();
    /* Those who send pages out wait for the lock, and this for memory below an MTD. */
    unsigned int noreclaim = memalloc_noreclaim_save();
    bool more;

    do {
        unsigned int step;

        mutex_lock(&swap->lock);
        more = free_noted(swap, WORK_STEPS);
        for (step = 0; !more && step < WORK_STEPS; step++) {
            if (fp_swap_idle(&swap->store) <= 0)
                break;
        }
        more = more || step == WORK_STEPS;
        mutex_unlock(&swap->lock);
        cond_resched();
    } while (more);
    memalloc_noreclaim_restore(noreclaim);
    memalloc_noio_restore(noio);
}

/* Called under the swap area's spinlock. On RAM the worker starts a tick later: there each page that
 * comes in frees its slot, and many are freed at a time. A log that is nearly full wants them now. */
static void slot_free_notify(struct block_device *device, unsigned long slot)
{
    struct fpswap *swap = device->bd_disk->private_data;

    if (slot >= swap->config.slot_count)
        return;
    atomic64_inc(&swap->notify_free);
    set_bit(slot, swap->freed);
    queue_delayed_work(workers, &swap->work, swap->mtd ? 0 : 1);
}

static int write_page(struct fpswap *swap, u32 slot, struct page *page)
{
    struct fpswap_codec *codec;
    const void *bytes;
    bool full;
    int error;

    /* Refused before it is compressed: a full device is asked very often. */
    mutex_lock(&swap->lock);
    if (fp_swap_is_full(&swap->store, slot))
        (void)free_noted(swap, UINT_MAX);
    full = fp_swap_is_full(&swap->store, slot);
    mutex_unlock(&swap->lock);
    if (full)
        return FP_SWAP_FULL;

    codec = fpswap_codec_take(swap->codecs);
    bytes = kmap_local_page(page);
    error = fp_swap_pack(&swap->store, &codec->codec, slot, bytes, &codec->packed);
    if (!error) {
        mutex_lock(&swap->lock);
        error = fp_swap_put(&swap->store, slot, &codec->packed);
        /* There may be no memory for RAM as a medium, where there is some in slots not freed yet. */
        if (error == FP_SWAP_IO && !swap->mtd) {
            (void)free_noted(swap, UINT_MAX);
            error = fp_swap_put(&swap->store, slot, &codec->packed);
        }
        /* What it held before was of no use to the kernel, if that said so. */
        if (test_and_clear_bit(slot, swap->freed) && error)
            (void)fp_swap_free(&swap->store, slot);
        mutex_unlock(&swap->lock);
    }
    kunmap_local(bytes);
    fpswap_codec_give(codec);
    return error;
}

static int read_page(struct fpswap *swap, u32 slot, struct page *page)
{
    struct fpswap_codec *codec = fpswap_codec_take(swap->codecs);
    void *bytes;
    int error;

    mutex_lock(&swap->lock);
    error = fp_swap_fetch(&swap->store, slot, codec->codec.stage, &codec->packed);
    mutex_unlock(&swap->lock);
    bytes = kmap_local_page(page);
    if (!error)
        error = fp_swap_unpack(&swap->store, &codec->codec, slot, &codec->packed, bytes);
    if (error)
        memset(bytes, 0, PAGE_SIZE); /* nothing was ever written there, or nothing is right */
    kunmap_local(bytes);
    fpswap_codec_give(codec);
    flush_dcache_page(page);
    if (error && error != FP_SWAP_EMPTY) {
        pr_err_ratelimited("%s: slot %u: %s\n", swap->disk->disk_name, slot,
                           error == FP_SWAP_CORRUPT ? "the medium gave other bytes than were written"
                                                    : "the medium failed");
        return error;
    }
    return FP_SWAP_OK;
}

static int sync_store(struct fpswap *swap)
{
    int error;

    mutex_lock(&swap->lock);
    error = fp_swap_sync(&swap->store);
    if (!error && swap->config.medium == &swap->rewriter.medium)
        error = fp_swap_rewriter_flush(&swap->rewriter);
    if (!error && swap->mtd)
        swap->mtd->sync(swap->mtd);
    mutex_unlock(&swap->lock);
    return error;
}

static int discard(struct fpswap *swap, struct bio *bio)
{
    u64 slot = DIV_ROUND_UP_ULL(bio->bi_iter.bi_sector, PAGE_SECTORS);
    u64 end = bio_end_sector(bio) >> PAGE_SECTORS_SHIFT;
    int error = 0;

    for (; slot < end && !error; slot++) {
        mutex_lock(&swap->lock);
        clear_bit(slot, swap->freed);
        error = fp_swap_free(&swap->store, slot);
        atomic64_inc(&swap->notify_free);
        mutex_unlock(&swap->lock);
        cond_resched();
    }
    return error;
}

/* Whether its store is there after the power was gone. */
static bool is_kept(const struct fpswap *swap)
{
    return swap->mtd && swap->config.layout == &fp_swap_log;
}

static int transfer(struct fpswap *swap, struct bio *bio)
{
    bool is_write = op_is_write(bio_op(bio));
    struct bvec_iter iter;
    struct bio_vec vector;

    if (is_write && READ_ONCE(imaging) && !is_kept(swap)) {
        pr_err_once("%s ends with the power: hibernate to another swap (resume=), or to a log on an MTD\n",
                    swap->disk->disk_name);
        atomic64_inc(&swap->failed_writes);
        return FP_SWAP_IO;
    }
    bio_for_each_segment(vector, bio, iter) {
        u32 slot = iter.bi_sector >> PAGE_SECTORS_SHIFT;
        int error;

        if (vector.bv_offset || vector.bv_len != PAGE_SIZE ||
            iter.bi_sector & (PAGE_SECTORS - 1)) {
            atomic64_inc(&swap->invalid_io);
            return FP_SWAP_INVALID;
        }
        error = is_write ? write_page(swap, slot, vector.bv_page)
                         : read_page(swap, slot, vector.bv_page);
        if (error) {
            atomic64_inc(is_write ? &swap->failed_writes : &swap->failed_reads);
            return error;
        }
    }
    return FP_SWAP_OK;
}

static void serve(struct fpswap *swap, struct bio *bio)
{
    unsigned long start = bio_start_io_acct(bio);
    int error = bio->bi_opf & REQ_PREFLUSH ? sync_store(swap) : 0;

    if (!error) {
        switch (bio_op(bio)) {
        case REQ_OP_READ:
        case REQ_OP_WRITE:
            error = transfer(swap, bio);
            break;
        case REQ_OP_DISCARD:
        case REQ_OP_WRITE_ZEROES:
            error = discard(swap, bio);
            break;
        case REQ_OP_FLUSH:
            error = sync_store(swap);
            break;
        default:
            atomic64_inc(&swap->invalid_io);
            error = FP_SWAP_INVALID;
        }
    }
    if (!error && bio->bi_opf & REQ_FUA)
        error = sync_store(swap);
    bio->bi_status = !error                   ? BLK_STS_OK
                     : error == FP_SWAP_FULL ? BLK_STS_NOSPC
                                             : BLK_STS_IOERR;
    bio_end_io_acct(bio, start);
    bio_endio(bio);
}

/* Serve what waits. Pages leave memory here: the reserves that are for that may be used. */
static void serve_waiting(struct work_struct *work)
{
    struct fpswap *swap = container_of(work, struct fpswap, served);
    unsigned int noio = memalloc_noio_save();
    unsigned int noreclaim = memalloc_noreclaim_save();
    struct bio *bio;

    do {
        spin_lock_irq(&swap->waiting_lock);
        bio = bio_list_pop(&swap->waiting);
        spin_unlock_irq(&swap->waiting_lock);
        if (bio)
            serve(swap, bio);
        cond_resched();
    } while (bio);
    memalloc_noreclaim_restore(noreclaim);
    memalloc_noio_restore(noio);
}

static void submit(struct bio *bio)
{
    struct fpswap *swap = bio->bi_bdev->bd_disk->private_data;
    unsigned int noio;

    if (swap->mtd) {
        /* Below an MTD may be another block device: its requests would wait for this one to be
         * submitted, and this one for them. */
        spin_lock_irq(&swap->waiting_lock);
        bio_list_add(&swap->waiting, bio);
        spin_unlock_irq(&swap->waiting_lock);
        queue_work(workers, &swap->served);
        return;
    }
    /* Whatever is allocated below must not come back here for memory. */
    noio = memalloc_noio_save();
    serve(swap, bio);
    memalloc_noio_restore(noio);
}

/* A page without a request around it. Where a device has this, the kernel takes a page in without
 * its swap cache and frees the slot at once, as it does with zram: of RAM, a copy would only take
 * room. What fails here is tried again by a request, which counts it. */
static int rw_page(struct block_device *device, sector_t sector, struct page *page, enum req_op op)
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
    error = is_write ? write_page(swap, slot, page) : read_page(swap, slot, page);
    bdev_end_io_acct(device, op, start);
    memalloc_noio_restore(noio);
    if (error)
        return -EIO;
    page_endio(page, is_write, 0);
    return 0;
}

/* With the disk's open_mutex. */
static int open_device(struct block_device *device, fmode_t mode)
{
    struct fpswap *swap = device->bd_disk->private_data;

    return swap->is_going ? -EBUSY : 0;
}

static const struct block_device_operations ram_operations = {
    .open = open_device,
    .submit_bio = submit,
    .rw_page = rw_page,
    .swap_slot_free_notify = slot_free_notify,
    .owner = THIS_MODULE,
};

/* Of a chip, a page that came in keeps its copy there: it may go out again without a write. */
static const struct block_device_operations mtd_operations = {
    .open = open_device,
    .submit_bio = submit,
    .swap_slot_free_notify = slot_free_notify,
    .owner = THIS_MODULE,
};

/* sysfs: the columns of zram's files. */

static struct fpswap *swap_of(struct device *device)
{
    return dev_to_disk(device)->private_data;
}

static void store_stat(struct fpswap *swap, struct fp_swap_stat *stat)
{
    mutex_lock(&swap->lock);
    fp_swap_stat(&swap->store, stat);
    mutex_unlock(&swap->lock);
}

static ssize_t mm_stat_show(struct device *device, struct device_attribute *attribute, char *text)
{
    struct fpswap *swap = swap_of(device);
    struct fp_swap_stat stat;

    store_stat(swap, &stat);
    if (!swap->mtd) {
        stat.mem_used_total = (u64)atomic_long_read(&swap->ram.used) << PAGE_SHIFT;
        stat.mem_used_max = (u64)READ_ONCE(swap->ram.used_max) << PAGE_SHIFT;
    }
    /* A store that was taken up took as much before. */
    return sysfs_emit(text, "%8llu %8llu %8llu %8llu %8llu %8u %8u %8u %8u\n",
                      stat.orig_data_size, stat.compr_data_size, stat.mem_used_total,
                      stat.mem_limit, max(stat.mem_used_total, stat.mem_used_max),
                      stat.same_pages, 0, stat.huge_pages, 0);
}
static DEVICE_ATTR_RO(mm_stat);

static ssize_t io_stat_show(struct device *device, struct device_attribute *attribute, char *text)
{
    struct fpswap *swap = swap_of(device);

    return sysfs_emit(text, "%8lld %8lld %8lld %8lld\n", atomic64_read(&swap->failed_reads),
                      atomic64_read(&swap->failed_writes), atomic64_read(&swap->invalid_io),
                      atomic64_read(&swap->notify_free));
}
static DEVICE_ATTR_RO(io_stat);

static ssize_t bd_stat_show(struct device *device, struct device_attribute *attribute, char *text)
{
    struct fpswap *swap = swap_of(device);
    struct fp_swap_stat stat;

    if (!swap->mtd)
        return sysfs_emit(text, "%8u %8u %8u\n", 0, 0, 0);
    store_stat(swap, &stat);
    return sysfs_emit(text, "%8llu %8lld %8lld\n", stat.mem_used_total >> PAGE_SHIFT,
                      atomic64_read(&swap->mtd->read_bytes) >> PAGE_SHIFT,
                      atomic64_read(&swap->mtd->programmed_bytes) >> PAGE_SHIFT);
}
static DEVICE_ATTR_RO(bd_stat);

static struct attribute *fpswap_attrs[] = {
    &dev_attr_mm_stat.attr,
    &dev_attr_io_stat.attr,
    &dev_attr_bd_stat.attr,
    NULL,
};
ATTRIBUTE_GROUPS(fpswap);

/* debugfs: whether the store is as it should be. */
static int check_show(struct seq_file *file, void *unused)
{
    struct fpswap *swap = file->private;
    unsigned int noio = memalloc_noio_save();
    const char *wrong;

    mutex_lock(&swap->lock);
    wrong = fp_swap_check(&swap->store);
    mutex_unlock(&swap->lock);
    memalloc_noio_restore(noio);
    seq_printf(file, "%s\n", wrong ? wrong : "ok");
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(check);

/* Hibernation, and the power that goes. Neither flushes a swap. */

/* End what is at work, and put all onto the media. */
static int quiesce(void)
{
    int number;
    int error = 0;

    mutex_lock(&all_lock);
    for (number = 0; number < DEVICES_MAX; number++) {
        struct fpswap *swap = all[number];

        if (!swap)
            continue;
        flush_work(&swap->served);
        cancel_delayed_work_sync(&swap->work);
        if (swap->mtd && sync_store(swap))
            error = -EIO;
    }
    mutex_unlock(&all_lock);
    return error;
}

static int before_image(struct device *device)
{
    return quiesce();
}

static int after_image(struct device *device)
{
    WRITE_ONCE(imaging, true);
    return 0;
}

/* This memory is an image's. The log has gone on since: the image was written to it, and read by
 * another kernel. Read its tables again. Slots that were empty then hold the image. */
static int after_restore(struct device *device)
{
    unsigned int noio = memalloc_noio_save();
    int number;

    mutex_lock(&all_lock);
    for (number = 0; number < DEVICES_MAX; number++) {
        struct fpswap *swap = all[number];
        u32 slot;
        int error;

        if (!swap || !is_kept(swap))
            continue;
        mutex_lock(&swap->lock);
        for (slot = 0; slot < swap->config.slot_count; slot++) {
            if (!fp_swap_holds(&swap->store, slot))
                set_bit(slot, swap->freed);
        }
        error = fp_swap_mount(&swap->store, &swap->config);
        mutex_unlock(&swap->lock);
        if (error)
            pr_err("%s: its MTD could not be read again: error %d; its pages are lost\n",
                   swap->disk->disk_name, error);
        else
            queue_delayed_work(workers, &swap->work, 0);
    }
    mutex_unlock(&all_lock);
    memalloc_noio_restore(noio);
    return 0;
}

static const struct dev_pm_ops power_operations = {
    .freeze = before_image,
    .thaw = after_image,
    .poweroff = before_image,
    .restore = after_restore,
};
static struct platform_driver power_driver = {
    .driver = {.name = "flashpager-swap", .pm = &power_operations, .suppress_bind_attrs = true},
};
static struct platform_device *power_device;

static int power_changed(struct notifier_block *block, unsigned long event, void *unused)
{
    if (event == PM_POST_HIBERNATION || event == PM_POST_RESTORE)
        WRITE_ONCE(imaging, false);
    return NOTIFY_DONE;
}
static struct notifier_block power_notifier = {.notifier_call = power_changed};

static int going_down(struct notifier_block *block, unsigned long event, void *unused)
{
    if (quiesce())
        pr_err("what was written last could not be put onto the medium\n");
    return NOTIFY_DONE;
}
/* Before an MTD's own, which may put its chip to sleep. */
static struct notifier_block down_notifier = {.notifier_call = going_down, .priority = 1};

static int power_open(void)
{
    int error = platform_driver_register(&power_driver);

    if (error)
        return error;
    power_device = platform_device_register_simple("flashpager-swap", -1, NULL, 0);
    if (IS_ERR(power_device)) {
        platform_driver_unregister(&power_driver);
        return PTR_ERR(power_device);
    }
    register_pm_notifier(&power_notifier);
    register_reboot_notifier(&down_notifier);
    return 0;
}

static void power_close(void)
{
    unregister_reboot_notifier(&down_notifier);
    unregister_pm_notifier(&power_notifier);
    platform_device_unregister(power_device);
    platform_driver_unregister(&power_driver);
}

static void fpswap_free(struct fpswap *swap)
{
    debugfs_remove_recursive(swap->debug);
    if (swap->disk) {
        if (disk_live(swap->disk))
            del_gendisk(swap->disk);
        flush_work(&swap->served);
        cancel_delayed_work_sync(&swap->work);
        if (swap->mtd && sync_store(swap))
            pr_err("%s: what was written last could not be put onto the medium\n",
                   swap->disk->disk_name);
        put_disk(swap->disk);
    }
    if (!IS_ERR_OR_NULL(swap->codecs))
        fpswap_codecs_close(swap->codecs);
    vfree(swap->freed);
    vfree(swap->config.memory);
    vfree(swap->rewriter.block);
    vfree(swap->rewriter.good);
    fpswap_ram_close(&swap->ram);
    if (swap->mtd) {
        swap->mtd->close(swap->mtd);
        symbol_put(fpswap_mtd_open);
    }
    kfree(swap);
}

/* A size as "64M"; `other` where none is said, 0 where it is none. */
static u64 size_of(const char *text, u64 other)
{
    char *end;
    u64 number, size, back;

    if (!*text)
        return other;
    number = simple_strtoull(text, &end, 0);
    size = memparse(text, &end);
    /* More digits, or a unit, may have carried it past 64 bits. */
    for (back = size; back > number; back >>= 10)
        ;
    return *end || back != number || strlen(text) > 19 ? 0 : size;
}

enum { LAYOUT_AUTO, LAYOUT_FRAGMENTS, LAYOUT_LOG, LAYOUT_REWRITE };

static const char *const layouts[] = {"auto", "fragments", "log", "rewrite"};

/* The name of an MTD, or NULL. */
static const char *mtd_name(void)
{
    return strncmp(medium, "mtd:", 4) == 0 ? medium + 4 : NULL;
}

/* Find the medium of a device; with an MTD, the layout that it wants, too. */
static int medium_open(struct fpswap *swap, int *how)
{
    u64 quarter = ((u64)totalram_pages() / 4) << PAGE_SHIFT;
    u64 bytes = size_of(medium_size, mtd_name() ? 0 : quarter);
    typeof(fpswap_mtd_open) *open;
    struct fpswap_mtd *mtd;

    if (!mtd_name() && strcmp(medium, "ram") != 0) {
        pr_err("medium=%s: there is none; take ram, or mtd:NAME or mtd:NUMBER of /proc/mtd\n",
               medium);
        return -EINVAL;
    }
    if ((bytes || *medium_size || !mtd_name()) &&
        (bytes < (1u << 20) || bytes > (2u << 30) - PAGE_SIZE)) {
        pr_err("medium_size=%s: take 1M to 2047M\n", medium_size);
        return -EINVAL;
    }
    if (!mtd_name()) {
        int error;

        if (*how == LAYOUT_REWRITE) {
            pr_err("layout=rewrite: memory is rewritten in place; take fragments\n");
            return -EINVAL;
        }
        *how = *how == LAYOUT_AUTO ? LAYOUT_FRAGMENTS : *how;
        error = fpswap_ram_open(&swap->ram, bytes, *how == LAYOUT_LOG);
        if (error)
            pr_err("no memory for the list of pages; take a smaller medium_size\n");
        return error;
    }
    open = symbol_request(fpswap_mtd_open);
    if (!open) {
        pr_err("medium=%s: load flashpager-swap-mtd first\n", medium);
        return -ENODEV;
    }
    mtd = open(mtd_name(), bytes);
    if (IS_ERR(mtd)) {
        symbol_put(fpswap_mtd_open);
        return PTR_ERR(mtd);
    }
    swap->mtd = mtd;
    if (*how == LAYOUT_AUTO)
        *how = mtd->in_place ? LAYOUT_FRAGMENTS : LAYOUT_LOG;
    if (*how == LAYOUT_FRAGMENTS) {
        if (!mtd->in_place) {
            pr_err("layout=fragments: %s is erased before it is written; take log or rewrite\n",
                   medium);
            return -EINVAL;
        }
        mtd->medium.program_bytes = 1;
    }
    if (*how != LAYOUT_LOG && !format) {
        pr_err("layout=%s keeps nothing: format=1 begins with an empty store, and what %s holds is lost\n",
               layouts[*how], medium);
        return -EINVAL;
    }
    return 0;
}

/* Fragments on an MTD that is erased: through a rewriter. */
static int rewriter_open(struct fpswap *swap)
{
    const struct fp_medium *nand = &swap->mtd->medium;
    /* Init clears the rewriter, and takes these. */
    u8 *block = fpswap_table(nand->block_bytes);
    u32 *good = fpswap_table(array_size(nand->block_count, sizeof(*good)));
    int error = block && good ? fp_swap_rewriter_init(&swap->rewriter, nand, block, good)
                              : -ENOMEM;

    swap->rewriter.block = block;
    swap->rewriter.good = good;
    if (error == -ENOMEM)
        pr_err("no memory for an erase block; free some\n");
    else if (error)
        pr_err("%s has no good block\n", medium);
    return error ? -EINVAL : 0;
}

/* Make an empty store, or take up the one that an MTD holds. */
static int store_start(struct fpswap *swap)
{
    struct fp_swap_config *config = &swap->config;
    bool made = format || !swap->mtd;
    int error = made ? fp_swap_format(&swap->store, config) : fp_swap_mount(&swap->store, config);
    struct fp_swap_stat stat;

    fp_swap_stat(&swap->store, &stat);
    if (!error && stat.mem_limit < 2 * PAGE_SIZE)
        error = FP_SWAP_INVALID; /* room for no page */
    switch (error) {
    case FP_SWAP_OK:
        return 0;
    case FP_SWAP_INVALID:
        if (config->layout != &fp_swap_log)
            pr_err("sizes that do not fit: take a medium_size of 1M to 2047M\n");
        else if (fp_swap_log_reserve(config) == 0)
            pr_err("layout=log: a log cannot be on %u erase blocks of %u bytes; take another medium\n",
                   config->medium->block_count, config->medium->block_bytes);
        else
            pr_err("layout=log: of %u erase blocks at least %u must be kept free%s\n",
                   config->medium->block_count, fp_swap_log_reserve(config),
                   reserve ? ", and some for pages: take another reserve, or leave it out"
                           : ": take a larger medium");
        return -EINVAL;
    case FP_SWAP_NO_STORE:
        pr_err("%s holds no store: format=1 makes one, and what it holds is lost\n", medium);
        return -EINVAL;
    case FP_SWAP_OTHER:
        pr_err("%s holds a store of another version or shape: take its medium_size and disk_size, or format=1, and what it holds is lost\n",
               medium);
        return -EINVAL;
    default:
        pr_err("%s could not be %s: error %d\n", medium, made ? "formatted" : "read", error);
        return -EIO;
    }
}

/* Open the store of a device. */
static int swap_open(struct fpswap *swap)
{
    int how = match_string(layouts, ARRAY_SIZE(layouts), layout);
    bool is_raw = strcmp(compressor, "none") == 0;
    struct fp_swap_config *config = &swap->config;
    const struct fp_medium *taken;
    u64 medium_bytes;
    u64 disk_bytes;
    int error;

    if (how < 0) {
        pr_err("layout=%s: there is none; take auto, fragments, log or rewrite\n", layout);
        return -EINVAL;
    }
    error = medium_open(swap, &how);
    if (error)
        return error;
    if (how == LAYOUT_REWRITE) {
        error = rewriter_open(swap);
        if (error)
            return error;
    }
    if (reserve && how != LAYOUT_LOG) {
        pr_err("reserve=%u: only a log keeps blocks free; leave it out\n", reserve);
        return -EINVAL;
    }
    taken = how == LAYOUT_REWRITE ? &swap->rewriter.medium
            : swap->mtd          ? &swap->mtd->medium
                                 : &swap->ram.medium;
    medium_bytes = (u64)taken->block_count * taken->block_bytes;
    disk_bytes = size_of(disk_size, 3 * medium_bytes);
    if (disk_bytes < PAGE_SIZE || disk_bytes >> PAGE_SHIFT > 8 * (medium_bytes >> PAGE_SHIFT)) {
        pr_err("disk_size=%s: take 4K to eight times medium_size\n", disk_size);
        return -EINVAL;
    }
    swap->codecs = fpswap_codecs_open(is_raw ? NULL : compressor);
    if (IS_ERR(swap->codecs)) {
        error = PTR_ERR(swap->codecs);
        pr_err("compressor=%s: %s\n", compressor,
               error == -ENOMEM ? "no memory" : "this kernel has none; see /proc/crypto, or modprobe it");
        /* Of -ENOENT modprobe says that a symbol or a parameter is unknown. */
        return error == -ENOMEM ? error : -EINVAL;
    }
    *config = (struct fp_swap_config){
        .medium = taken,
        .layout = how == LAYOUT_LOG ? &fp_swap_log : &fp_swap_fragments,
        .compressor = raw_cpu_ptr(swap->codecs)->codec.compressor,
        .crc = swap->mtd ? kernel_crc : ram_hash,
        .page_bytes = PAGE_SIZE,
        .slot_count = disk_bytes >> PAGE_SHIFT,
        .reserve_blocks = how == LAYOUT_LOG ? reserve : 0,
    };
    config->chunk_count = config->slot_count + config->slot_count / 2 + 1;
    config->memory_bytes =
        4 * (how == LAYOUT_LOG
                 ? FP_SWAP_LOG_WORDS(config->slot_count, taken->block_count, PAGE_SIZE,
                                     taken->program_bytes)
                 : FP_SWAP_FRAGMENT_WORDS(config->slot_count, config->chunk_count, PAGE_SIZE));
    config->memory = fpswap_table(config->memory_bytes);
    swap->freed = fpswap_table(BITS_TO_LONGS(config->slot_count) * sizeof(long));
    if (!config->memory || !swap->freed) {
        pr_err("no memory for %u slots; take a smaller disk_size\n", config->slot_count);
        return -ENOMEM;
    }
    return store_start(swap);
}

static struct fpswap *swap_create(int number)
{
    struct fpswap *swap = kzalloc(sizeof(*swap), GFP_KERNEL);
    struct request_queue *queue;
    int error;

    if (!swap)
        return ERR_PTR(-ENOMEM);
    mutex_init(&swap->lock);
    INIT_DELAYED_WORK(&swap->work, work);
    INIT_WORK(&swap->served, serve_waiting);
    bio_list_init(&swap->waiting);
    spin_lock_init(&swap->waiting_lock);
    error = swap_open(swap);
    if (error)
        goto failed;
    swap->disk = blk_alloc_disk(NUMA_NO_NODE);
    if (!swap->disk) {
        error = -ENOMEM;
        goto failed;
    }
    swap->disk->major = major;
    swap->disk->first_minor = number;
    swap->disk->minors = 1;
    swap->disk->flags |= GENHD_FL_NO_PART;
    swap->disk->fops = swap->mtd ? &mtd_operations : &ram_operations;
    swap->disk->private_data = swap;
    snprintf(swap->disk->disk_name, DISK_NAME_LEN, "fpswap%d", number);
    set_capacity(swap->disk, (sector_t)swap->config.slot_count << PAGE_SECTORS_SHIFT);
    queue = swap->disk->queue;
    blk_queue_logical_block_size(queue, PAGE_SIZE);
    blk_queue_physical_block_size(queue, PAGE_SIZE);
    blk_queue_io_min(queue, PAGE_SIZE);
    blk_queue_io_opt(queue, PAGE_SIZE);
    blk_queue_update_dma_alignment(queue, PAGE_SIZE - 1);
    queue->limits.discard_granularity = PAGE_SIZE;
    blk_queue_max_discard_sectors(queue, UINT_MAX);
    /* More bytes than a request can say would be cut off, in silence. */
    blk_queue_max_write_zeroes_sectors(queue, round_down(UINT_MAX, PAGE_SIZE) >> SECTOR_SHIFT);
    blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
    blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
    /* A page that changed while it was compressed would be found corrupt. */
    blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, queue);
    blk_queue_write_cache(queue, swap->mtd || swap->config.layout == &fp_swap_log, false);
    error = device_add_disk(NULL, swap->disk, fpswap_groups);
    if (error)
        goto failed;
    swap->debug = debugfs_create_dir(swap->disk->disk_name, debug_root);
    debugfs_create_file("check", 0400, swap->debug, swap, &check_fops);
    pr_info("%s: %u slots, %s in %llu bytes of %s, %s\n", swap->disk->disk_name,
            swap->config.slot_count,
            swap->config.layout == &fp_swap_log                ? "log"
            : swap->config.medium == &swap->rewriter.medium ? "rewrite"
                                                            : "fragments",
            (u64)swap->config.medium->block_count * swap->config.medium->block_bytes, medium,
            compressor);
    return swap;

failed:
    fpswap_free(swap);
    return ERR_PTR(error);
}

/* What is written to a parameter ends with the line. */
static void end_line(char *text)
{
    char *end = strchr(text, '\n');

    if (end)
        *end = '\0';
}

/* Add a device as the parameters say: its number, or an error. */
static int swap_add(void)
{
    struct fpswap *swap;
    int number;

    mutex_lock(&all_lock);
    for (number = 0; number < DEVICES_MAX && all[number]; number++)
        ;
    if (number == DEVICES_MAX) {
        pr_err("there are %d devices: remove one\n", DEVICES_MAX);
        mutex_unlock(&all_lock);
        return -ENOSPC;
    }
    kernel_param_lock(THIS_MODULE);
    end_line(medium);
    end_line(layout);
    end_line(compressor);
    end_line(medium_size);
    end_line(disk_size);
    swap = swap_create(number);
    /* Who removes it and adds it again wants what it holds. */
    if (!IS_ERR(swap))
        format = false;
    kernel_param_unlock(THIS_MODULE);
    if (!IS_ERR(swap))
        all[number] = swap;
    mutex_unlock(&all_lock);
    return IS_ERR(swap) ? PTR_ERR(swap) : number;
}

static int swap_remove(int number)
{
    struct fpswap *swap;
    int error = 0;

    mutex_lock(&all_lock);
    swap = number >= 0 && number < DEVICES_MAX ? all[number] : NULL;
    if (swap) {
        mutex_lock(&swap->disk->open_mutex);
        swap->is_going = disk_openers(swap->disk) == 0;
        mutex_unlock(&swap->disk->open_mutex);
        if (swap->is_going) {
            all[number] = NULL;
            fpswap_free(swap);
        } else {
            pr_err("fpswap%d is in use: swapoff, unmount or close it\n", number);
            error = -EBUSY;
        }
    } else {
        pr_err("there is no fpswap%d\n", number);
        error = -ENODEV;
    }
    mutex_unlock(&all_lock);
    return error;
}

/* /sys/class/flashpager-swap-control, as zram-control. */

static ssize_t hot_add_show(struct class *class, struct class_attribute *attribute, char *text)
{
    int number = swap_add();

    return number < 0 ? number : sysfs_emit(text, "%d\n", number);
}
/* Reading it adds a device: only root may. */
static struct class_attribute class_attr_hot_add = __ATTR(hot_add, 0400, hot_add_show, NULL);

static ssize_t hot_remove_store(struct class *class, struct class_attribute *attribute,
                                const char *text, size_t size)
{
    int number;
    int error = kstrtoint(text, 10, &number);

    if (!error)
        error = swap_remove(number);
    return error ? error : size;
}
static CLASS_ATTR_WO(hot_remove);

static struct attribute *control_attrs[] = {
    &class_attr_hot_add.attr,
    &class_attr_hot_remove.attr,
    NULL,
};
ATTRIBUTE_GROUPS(control);

static struct class control = {
    .name = "flashpager-swap-control",
    .owner = THIS_MODULE,
    .class_groups = control_groups,
};

static void close_all(void)
{
    int number;

    for (number = 0; number < DEVICES_MAX; number++) {
        if (all[number])
            fpswap_free(all[number]);
    }
    debugfs_remove_recursive(debug_root);
    destroy_workqueue(workers);
    unregister_blkdev(major, "fpswap");
}

static int __init fpswap_init(void)
{
    int number;
    int error;

    if (devices < 1 || devices > DEVICES_MAX) {
        pr_err("devices=%u: take 1 to %d\n", devices, DEVICES_MAX);
        return -EINVAL;
    }
    if (devices != 1 && mtd_name()) {
        pr_err("devices=%u: an MTD is one\n", devices);
        return -EINVAL;
    }
    major = register_blkdev(0, "fpswap");
    if (major < 0)
        return major;
    workers = alloc_workqueue("fpswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
    if (!workers) {
        unregister_blkdev(major, "fpswap");
        return -ENOMEM;
    }
    debug_root = debugfs_create_dir("flashpager-swap", NULL);
    error = power_open();
    if (error)
        goto no_power;
    error = class_register(&control);
    if (error)
        goto no_control;
    /* Last: from here on somebody may open them. */
    for (number = 0; number < devices; number++) {
        error = swap_add();
        if (error < 0)
            goto no_device;
    }
    return 0;

no_device:
    class_unregister(&control);
no_control:
    power_close();
no_power:
    close_all();
    return error;
}

static void __exit fpswap_exit(void)
{
    class_unregister(&control);
    power_close();
    close_all();
}

module_init(fpswap_init);
module_exit(fpswap_exit);
MODULE_DESCRIPTION("flashpager: a compressed store to swap to");
MODULE_LICENSE("Dual MIT/GPL");
