/* The block device: reads, writes and frees slots of the store. */
#define pr_fmt(fmt) "flashpager-swap: " fmt

#include "device.h"

#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>

/* Slots freed, or steps of collection, before others get the lock. */
#define WORK_STEPS 64

bool fpswap_imaging;

/* Frees at most `steps` of the noted slots. Returns whether there are more. Needs the lock. */
static bool free_noted_slots(struct fpswap *swap, unsigned int steps)
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

void fpswap_work(struct work_struct *work)
{
    struct fpswap *swap = container_of(to_delayed_work(work), struct fpswap, work);
    unsigned int noio = memalloc_noio_save();
    /* Writers of pages wait for the lock, and this function for memory below an MTD. */
    unsigned int noreclaim = memalloc_noreclaim_save();
    bool more;

    do {
        unsigned int step;

        mutex_lock(&swap->lock);
        more = free_noted_slots(swap, WORK_STEPS);
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

/* Called under the swap area's spinlock. With RAM as the medium the worker starts a tick later, as
 * each page that comes in frees its slot and many are then freed together. A log that is nearly full
 * needs them at once. */
static void slot_free_notify(struct block_device *device, unsigned long slot)
{
    struct fpswap *swap = device->bd_disk->private_data;

    if (slot >= swap->config.slot_count)
        return;
    atomic64_inc(&swap->notify_free);
    set_bit(slot, swap->freed);
    queue_delayed_work(fpswap_workers, &swap->work, swap->mtd ? 0 : 1);
}

int fpswap_write_page(struct fpswap *swap, u32 slot, struct page *page)
{
    struct fpswap_codec *codec;
    const void *bytes;
    int error;

    /* A device that is full or has failed is asked often, so it refuses before it compresses. */
    mutex_lock(&swap->lock);
    if (fp_swap_is_full(&swap->store, slot))
        (void)free_noted_slots(swap, UINT_MAX);
    error = fp_swap_has_failed(&swap->store)          ? FP_SWAP_IO
            : fp_swap_is_full(&swap->store, slot) ? FP_SWAP_FULL
                                                      : FP_SWAP_OK;
    mutex_unlock(&swap->lock);
    if (error)
        return error;

    codec = fpswap_codec_take(swap->codecs);
    bytes = kmap_local_page(page);
    error = fp_swap_pack(&swap->store, &codec->codec, slot, bytes, &codec->packed);
    if (!error) {
        mutex_lock(&swap->lock);
        error = fp_swap_put(&swap->store, slot, &codec->packed);
        /* If there is no memory for the medium, slots that are not freed yet may have some. */
        if (error == FP_SWAP_IO && !swap->mtd) {
            (void)free_noted_slots(swap, UINT_MAX);
            error = fp_swap_put(&swap->store, slot, &codec->packed);
        }
        /* The kernel did not use the slot's old page any more, if the slot was noted. */
        if (test_and_clear_bit(slot, swap->freed) && error)
            (void)fp_swap_free(&swap->store, slot);
        mutex_unlock(&swap->lock);
    }
    kunmap_local(bytes);
    fpswap_codec_give(codec);
    return error;
}

int fpswap_read_page(struct fpswap *swap, u32 slot, struct page *page)
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
        memset(bytes, 0, PAGE_SIZE); /* never written, or lost */
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

int fpswap_sync(struct fpswap *swap)
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

bool fpswap_is_kept(const struct fpswap *swap)
{
    return swap->mtd && swap->config.layout == &fp_swap_log;
}

static int transfer(struct fpswap *swap, struct bio *bio)
{
    bool is_write = op_is_write(bio_op(bio));
    struct bvec_iter iter;
    struct bio_vec vector;

    if (is_write && READ_ONCE(fpswap_imaging) && !fpswap_is_kept(swap)) {
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
        error = is_write ? fpswap_write_page(swap, slot, vector.bv_page)
                         : fpswap_read_page(swap, slot, vector.bv_page);
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
    int error = bio->bi_opf & REQ_PREFLUSH ? fpswap_sync(swap) : 0;

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
            error = fpswap_sync(swap);
            break;
        default:
            atomic64_inc(&swap->invalid_io);
            error = FP_SWAP_INVALID;
        }
    }
    if (!error && bio->bi_opf & REQ_FUA)
        error = fpswap_sync(swap);
    bio->bi_status = !error                   ? BLK_STS_OK
                     : error == FP_SWAP_FULL ? BLK_STS_NOSPC
                                             : BLK_STS_IOERR;
    bio_end_io_acct(bio, start);
    bio_endio(bio);
}

void fpswap_serve_waiting(struct work_struct *work)
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
        /* An MTD may lie on another block device, whose requests would wait for this one to be
         * submitted, and this one for them. */
        spin_lock_irq(&swap->waiting_lock);
        bio_list_add(&swap->waiting, bio);
        spin_unlock_irq(&swap->waiting_lock);
        queue_work(fpswap_workers, &swap->served);
        return;
    }
    /* Allocations below must not swap to this device. */
    noio = memalloc_noio_save();
    serve(swap, bio);
    memalloc_noio_restore(noio);
}

/* Called with the disk's open_mutex. */
static int open_device(fpswap_opened *opened, fpswap_mode mode)
{
    struct fpswap *swap = fpswap_opened_disk(opened)->private_data;

    return swap->is_going ? -EBUSY : 0;
}

const struct block_device_operations fpswap_ram_operations = {
    .open = open_device,
    .submit_bio = submit,
    FPSWAP_RW_PAGE
    .swap_slot_free_notify = slot_free_notify,
    .owner = THIS_MODULE,
};

const struct block_device_operations fpswap_mtd_operations = {
    .open = open_device,
    .submit_bio = submit,
    .swap_slot_free_notify = slot_free_notify,
    .owner = THIS_MODULE,
};
