/* Statistics in sysfs, with the columns of zram's files, and a check of the store in debugfs. */
#include "device.h"

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>

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
    /* mem_used_max counts from the mount: the store may have used more before. */
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
static const struct attribute_group fpswap_group = {.attrs = fpswap_attrs};
const struct attribute_group *fpswap_groups[] = {&fpswap_group, NULL};

/* Shows "ok", or what is wrong with the store. */
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

static int check_open(struct inode *inode, struct file *file)
{
    return single_open(file, check_show, inode->i_private);
}

const struct file_operations fpswap_check_fops = {
    .owner = THIS_MODULE,
    .open = check_open,
    .read = seq_read,
    .llseek = seq_lseek,
    .release = single_release,
};
