/* A swap device, and what the files of flashpager-swap.ko do with it. */
#ifndef FPSWAP_DEVICE_H
#define FPSWAP_DEVICE_H

#include "fpswap.h"

#include <linux/blkdev.h>
#include <linux/workqueue.h>

#define FPSWAP_DEVICES_MAX 16

struct fpswap {
    struct gendisk *disk;
    struct fpswap_ram ram;
    struct fpswap_mtd *mtd;           /* NULL: the medium is `ram` */
    struct fp_swap_rewriter rewriter; /* between store and MTD, with the layout rewrite */
    struct fp_swap_config config;
    struct fpswap_codec __percpu *codecs;
    struct mutex lock; /* guards the store */
    struct fp_swap store;
    unsigned long *freed;      /* bitmap: slots that the kernel does not use any more */
    struct delayed_work work;  /* frees those, and collects garbage */
    struct work_struct served; /* of an MTD: serves the waiting requests */
    struct bio_list waiting;
    spinlock_t waiting_lock;
    struct dentry *debug;
    bool is_going; /* the device is being removed: nobody may open it */
    atomic64_t failed_reads;
    atomic64_t failed_writes;
    atomic64_t invalid_io;
    atomic64_t notify_free;
};

/* main.c: the devices, by number; NULL where there is none. */
extern struct fpswap *fpswap_list[FPSWAP_DEVICES_MAX];
extern struct mutex fpswap_list_lock;
extern struct workqueue_struct *fpswap_workers;

/* parameters.c: the module's parameters, which describe the next device. */
struct fpswap_parameters {
    char *medium;
    char *layout;
    char *compressor;
    char *medium_size;
    char *disk_size;
    bool format;
    unsigned int reserve;
    unsigned int devices;
};
extern struct fpswap_parameters fpswap_parameters;

/* Cuts the line ends off that were written to the parameters. */
void fpswap_trim_parameters(void);
/* Returns the name of an MTD in the parameter `medium`, or NULL. */
const char *fpswap_mtd_name(void);
/* Returns a size like "64M": `other` if the text is empty, 0 if it is not a size. */
u64 fpswap_parse_size(const char *text, u64 other);

/* media.c: opens the medium and the store of a device, as the parameters say. */
int fpswap_open_store(struct fpswap *swap);

/* device.c: the block device. */
extern const struct block_device_operations fpswap_ram_operations;
extern const struct block_device_operations fpswap_mtd_operations;
extern bool fpswap_imaging; /* an image of memory is being written, before the power goes */

/* Stores a page in a slot, or reads one: zeroes if it was never written. Returns an error of the
 * store. */
int fpswap_write_page(struct fpswap *swap, u32 slot, struct page *page);
int fpswap_read_page(struct fpswap *swap, u32 slot, struct page *page);
/* Frees noted slots, and collects garbage while there is any. */
void fpswap_work(struct work_struct *work);
/* Serves the requests that wait for an MTD. */
void fpswap_serve_waiting(struct work_struct *work);
/* Puts all that was written onto the medium. */
int fpswap_sync(struct fpswap *swap);
/* Returns true if the store survives a loss of power. */
bool fpswap_is_kept(const struct fpswap *swap);

/* statistics.c: the device's files in sysfs and debugfs. */
extern const struct attribute_group *fpswap_groups[];
extern const struct file_operations fpswap_check_fops;

/* power.c: hibernation, and the end of power. */
int fpswap_power_open(void);
void fpswap_power_close(void);

#endif
