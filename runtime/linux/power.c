/* Hibernation, and the end of power. The kernel does not flush a swap before either. */
#define pr_fmt(fmt) "flashpager-swap: " fmt

#include "device.h"

#include <linux/platform_device.h>
#include <linux/reboot.h>
#include <linux/sched/mm.h>
#include <linux/suspend.h>

/* Ends the work in progress, and puts all onto the media. */
static int fpswap_quiesce(void)
{
    int number;
    int error = 0;

    mutex_lock(&fpswap_list_lock);
    for (number = 0; number < FPSWAP_DEVICES_MAX; number++) {
        struct fpswap *swap = fpswap_list[number];

        if (!swap)
            continue;
        flush_work(&swap->served);
        cancel_delayed_work_sync(&swap->work);
        if (swap->mtd && fpswap_sync(swap))
            error = -EIO;
    }
    mutex_unlock(&fpswap_list_lock);
    return error;
}

static int before_image(struct device *device)
{
    return fpswap_quiesce();
}

static int after_image(struct device *device)
{
    WRITE_ONCE(fpswap_imaging, true);
    return 0;
}

/* This memory is that of an image. The log has gone on since: the image was written to it, and read
 * by another kernel. So its tables are read again. Slots that were empty then hold the image. */
static int after_restore(struct device *device)
{
    unsigned int noio = memalloc_noio_save();
    int number;

    mutex_lock(&fpswap_list_lock);
    for (number = 0; number < FPSWAP_DEVICES_MAX; number++) {
        struct fpswap *swap = fpswap_list[number];
        u32 slot;
        int error;

        if (!swap || !fpswap_is_kept(swap))
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
            queue_delayed_work(fpswap_workers, &swap->work, 0);
    }
    mutex_unlock(&fpswap_list_lock);
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
        WRITE_ONCE(fpswap_imaging, false);
    return NOTIFY_DONE;
}
static struct notifier_block power_notifier = {.notifier_call = power_changed};

static int going_down(struct notifier_block *block, unsigned long event, void *unused)
{
    if (fpswap_quiesce())
        pr_err("what was written last could not be put onto the medium\n");
    return NOTIFY_DONE;
}
/* Before the notifier of an MTD, which may put its chip to sleep. */
static struct notifier_block down_notifier = {.notifier_call = going_down, .priority = 1};

int fpswap_power_open(void)
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

void fpswap_power_close(void)
{
    unregister_reboot_notifier(&down_notifier);
    unregister_pm_notifier(&power_notifier);
    platform_device_unregister(power_device);
    platform_driver_unregister(&power_driver);
}
