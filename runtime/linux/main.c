/* flashpager-swap: the store as block devices /dev/fpswap0, 1, ... to swap to. */
#define pr_fmt(fmt) "flashpager-swap: " fmt

#include "device.h"

#include <linux/debugfs.h>
#include <linux/module.h>

#if PAGE_SHIFT != 12
#error "flashpager-swap: only kernels with pages of 4096 bytes"
#endif

struct fpswap *fpswap_list[FPSWAP_DEVICES_MAX];
DEFINE_MUTEX(fpswap_list_lock);
struct workqueue_struct *fpswap_workers;
static struct dentry *debug_root;
static int major;

static void fpswap_free(struct fpswap *swap)
{
    debugfs_remove_recursive(swap->debug);
    if (swap->disk) {
        if (disk_live(swap->disk))
            del_gendisk(swap->disk);
        flush_work(&swap->served);
        cancel_delayed_work_sync(&swap->work);
        if (swap->mtd && fpswap_sync(swap))
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

/* Allocates the disk of a device. Returns an error if that fails. */
static struct gendisk *disk_alloc(const struct fpswap *swap)
{
    struct queue_limits limits = {
        .logical_block_size = PAGE_SIZE,
        .physical_block_size = PAGE_SIZE,
        .io_min = PAGE_SIZE,
        .io_opt = PAGE_SIZE,
        .dma_alignment = PAGE_SIZE - 1,
        .discard_granularity = PAGE_SIZE,
        .max_hw_discard_sectors = UINT_MAX,
        /* More bytes than a request can hold would be cut off silently. */
        .max_write_zeroes_sectors = round_down(UINT_MAX, PAGE_SIZE) >> SECTOR_SHIFT,
    };
    /* A page that changes while it is compressed would read as corrupt. */
    blk_features_t features = BLK_FEAT_STABLE_WRITES;

    if (swap->mtd || swap->config.layout == &fp_swap_log)
        features |= BLK_FEAT_WRITE_CACHE;
    /* The kernel frees the slot of a page that came in at once: a copy in RAM would only take room.
     * One on a chip may save a write. */
    if (!swap->mtd)
        features |= BLK_FEAT_SYNCHRONOUS;
    return fpswap_alloc_disk(&limits, features);
}

/* Makes device `number`, as the parameters say. */
static struct fpswap *swap_create(int number)
{
    struct fpswap *swap = kzalloc(sizeof(*swap), GFP_KERNEL);
    struct gendisk *disk;
    int error;

    if (!swap)
        return ERR_PTR(-ENOMEM);
    mutex_init(&swap->lock);
    INIT_DELAYED_WORK(&swap->work, fpswap_work);
    INIT_WORK(&swap->served, fpswap_serve_waiting);
    bio_list_init(&swap->waiting);
    spin_lock_init(&swap->waiting_lock);
    error = fpswap_open_store(swap);
    if (error)
        goto failed;
    disk = disk_alloc(swap);
    if (IS_ERR(disk)) {
        error = PTR_ERR(disk);
        goto failed;
    }
    swap->disk = disk;
    swap->disk->major = major;
    swap->disk->first_minor = number;
    swap->disk->minors = 1;
    swap->disk->flags |= GENHD_FL_NO_PART;
    swap->disk->fops = swap->mtd ? &fpswap_mtd_operations : &fpswap_ram_operations;
    swap->disk->private_data = swap;
    snprintf(swap->disk->disk_name, DISK_NAME_LEN, "fpswap%d", number);
    set_capacity(swap->disk, (sector_t)swap->config.slot_count << PAGE_SECTORS_SHIFT);
    error = device_add_disk(NULL, swap->disk, fpswap_groups);
    if (error)
        goto failed;
    swap->debug = debugfs_create_dir(swap->disk->disk_name, debug_root);
    debugfs_create_file("check", 0400, swap->debug, swap, &fpswap_check_fops);
    pr_info("%s: %u slots, %s in %llu bytes of %s, %s\n", swap->disk->disk_name,
            swap->config.slot_count,
            swap->config.layout == &fp_swap_log                ? "log"
            : swap->config.medium == &swap->rewriter.medium ? "rewrite"
                                                            : "fragments",
            (u64)swap->config.medium->block_count * swap->config.medium->block_bytes,
            fpswap_parameters.medium, fpswap_parameters.compressor);
    return swap;

failed:
    fpswap_free(swap);
    return ERR_PTR(error);
}

/* Adds a device as the parameters say. Returns its number, or an error. */
static int swap_add(void)
{
    struct fpswap *swap;
    int number;

    mutex_lock(&fpswap_list_lock);
    for (number = 0; number < FPSWAP_DEVICES_MAX && fpswap_list[number]; number++)
        ;
    if (number == FPSWAP_DEVICES_MAX) {
        pr_err("there are %d devices: remove one\n", FPSWAP_DEVICES_MAX);
        mutex_unlock(&fpswap_list_lock);
        return -ENOSPC;
    }
    kernel_param_lock(THIS_MODULE);
    fpswap_trim_parameters();
    swap = swap_create(number);
    /* A device that is removed and added again keeps what it holds. */
    if (!IS_ERR(swap))
        fpswap_parameters.format = false;
    kernel_param_unlock(THIS_MODULE);
    if (!IS_ERR(swap))
        fpswap_list[number] = swap;
    mutex_unlock(&fpswap_list_lock);
    return IS_ERR(swap) ? PTR_ERR(swap) : number;
}

static int swap_remove(int number)
{
    struct fpswap *swap;
    int error = 0;

    mutex_lock(&fpswap_list_lock);
    swap = number >= 0 && number < FPSWAP_DEVICES_MAX ? fpswap_list[number] : NULL;
    if (swap) {
        mutex_lock(&swap->disk->open_mutex);
        swap->is_going = disk_openers(swap->disk) == 0;
        mutex_unlock(&swap->disk->open_mutex);
        if (swap->is_going) {
            fpswap_list[number] = NULL;
            fpswap_free(swap);
        } else {
            pr_err("fpswap%d is in use: swapoff, unmount or close it\n", number);
            error = -EBUSY;
        }
    } else {
        pr_err("there is no fpswap%d\n", number);
        error = -ENODEV;
    }
    mutex_unlock(&fpswap_list_lock);
    return error;
}

/* /sys/class/flashpager-swap-control, like zram-control. */

static ssize_t hot_add_show(fpswap_class *class, fpswap_class_attribute *attribute, char *text)
{
    int number = swap_add();

    return number < 0 ? number : sysfs_emit(text, "%d\n", number);
}
/* Reading adds a device, so only root may read. */
static struct class_attribute class_attr_hot_add = __ATTR(hot_add, 0400, hot_add_show, NULL);

static ssize_t hot_remove_store(fpswap_class *class, fpswap_class_attribute *attribute,
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
    .class_groups = control_groups,
};

static void close_all(void)
{
    int number;

    for (number = 0; number < FPSWAP_DEVICES_MAX; number++) {
        if (fpswap_list[number])
            fpswap_free(fpswap_list[number]);
    }
    debugfs_remove_recursive(debug_root);
    destroy_workqueue(fpswap_workers);
    unregister_blkdev(major, "fpswap");
}

static int __init fpswap_init(void)
{
    unsigned int devices = fpswap_parameters.devices;
    int number;
    int error;

    if (devices < 1 || devices > FPSWAP_DEVICES_MAX) {
        pr_err("devices=%u: take 1 to %d\n", devices, FPSWAP_DEVICES_MAX);
        return -EINVAL;
    }
    if (devices != 1 && fpswap_mtd_name()) {
        pr_err("devices=%u: an MTD is one\n", devices);
        return -EINVAL;
    }
    major = register_blkdev(0, "fpswap");
    if (major < 0)
        return major;
    fpswap_workers = alloc_workqueue("fpswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
    if (!fpswap_workers) {
        unregister_blkdev(major, "fpswap");
        return -ENOMEM;
    }
    debug_root = debugfs_create_dir("flashpager-swap", NULL);
    error = fpswap_power_open();
    if (error)
        goto no_power;
    error = class_register(&control);
    if (error)
        goto no_control;
    /* Last, as from here on the devices may be opened. */
    for (number = 0; number < devices; number++) {
        error = swap_add();
        if (error < 0)
            goto no_device;
    }
    return 0;

no_device:
    class_unregister(&control);
no_control:
    fpswap_power_close();
no_power:
    close_all();
    return error;
}

static void __exit fpswap_exit(void)
{
    class_unregister(&control);
    fpswap_power_close();
    close_all();
}

module_init(fpswap_init);
module_exit(fpswap_exit);
MODULE_DESCRIPTION("flashpager: a compressed store to swap to");
MODULE_LICENSE("Dual MIT/GPL");
