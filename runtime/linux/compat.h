/* Differences between the kernels that the module builds for (Makefile), each once, in the manner
 * of the newest kernel. A version is the one that changed it. */
#ifndef FPSWAP_COMPAT_H
#define FPSWAP_COMPAT_H

#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/version.h>

#define FPSWAP_SINCE(major, minor) (LINUX_VERSION_CODE >= KERNEL_VERSION(major, minor, 0))

/* 6.3: the limits mark a device that serves requests at once. Before, it had rw_page(): rw_page.c. */
#if FPSWAP_SINCE(6, 3)
#define FPSWAP_RW_PAGE
#else
int fpswap_rw_page(struct block_device *device, sector_t sector, struct page *page, enum req_op op);
#define FPSWAP_RW_PAGE .rw_page = fpswap_rw_page,
#endif

/* 6.4: the files of a class get it, and themselves, as constants. */
#if FPSWAP_SINCE(6, 4)
typedef const struct class fpswap_class;
typedef const struct class_attribute fpswap_class_attribute;
#else
typedef struct class fpswap_class;
typedef struct class_attribute fpswap_class_attribute;
#endif

/* 6.5: a disk is opened, not a block device. */
#if FPSWAP_SINCE(6, 5)
typedef struct gendisk fpswap_opened;
typedef blk_mode_t fpswap_mode;
#define fpswap_opened_disk(opened) (opened)
#else
typedef struct block_device fpswap_opened;
typedef fmode_t fpswap_mode;
#define fpswap_opened_disk(opened) ((opened)->bd_disk)
#endif

/* 6.11: a disk is allocated with its limits (6.9), which have its features. Without them it does not
 * rotate, and is no source of random numbers. */
#if FPSWAP_SINCE(6, 11)
static inline struct gendisk *fpswap_alloc_disk(struct queue_limits *limits,
                                                blk_features_t features)
{
    limits->features = features;
    return blk_alloc_disk(limits, NUMA_NO_NODE);
}
#else
typedef unsigned int blk_features_t;
#define BLK_FEAT_WRITE_CACHE (1u << 0)
#define BLK_FEAT_STABLE_WRITES (1u << 1)
#define BLK_FEAT_SYNCHRONOUS 0u /* rw_page() */

static inline struct gendisk *fpswap_alloc_disk(struct queue_limits *limits,
                                                blk_features_t features)
{
    struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);
    struct request_queue *queue;

    if (!disk)
        return ERR_PTR(-ENOMEM);
    queue = disk->queue;
    blk_queue_logical_block_size(queue, limits->logical_block_size);
    blk_queue_physical_block_size(queue, limits->physical_block_size);
    blk_queue_io_min(queue, limits->io_min);
    blk_queue_io_opt(queue, limits->io_opt);
    blk_queue_update_dma_alignment(queue, limits->dma_alignment);
    queue->limits.discard_granularity = limits->discard_granularity;
    blk_queue_max_discard_sectors(queue, limits->max_hw_discard_sectors);
    blk_queue_max_write_zeroes_sectors(queue, limits->max_write_zeroes_sectors);
    blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
    blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
    if (features & BLK_FEAT_STABLE_WRITES)
        blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, queue);
    blk_queue_write_cache(queue, features & BLK_FEAT_WRITE_CACHE, false);
    return disk;
}
#endif

/* 6.15: crypto_comp is gone. Requests to compressors take addresses. The transform is such a request,
 * guarded by its codec's lock. */
#if FPSWAP_SINCE(6, 15)
#include <crypto/acompress.h>

typedef struct acomp_req fpswap_transform;

static inline fpswap_transform *fpswap_transform_open(const char *name)
{
    struct crypto_acomp *compressor = crypto_alloc_acomp(name, 0, CRYPTO_ALG_ASYNC);
    struct acomp_req *request;

    if (IS_ERR(compressor))
        return ERR_CAST(compressor);
    request = acomp_request_alloc(compressor);
    if (!request) {
        crypto_free_acomp(compressor);
        return ERR_PTR(-ENOMEM);
    }
    return request;
}

static inline void fpswap_transform_close(fpswap_transform *request)
{
    struct crypto_acomp *compressor = crypto_acomp_reqtfm(request);

    acomp_request_free(request);
    crypto_free_acomp(compressor);
}

static inline void fpswap_transform_set(fpswap_transform *request, const u8 *in, unsigned int size,
                                        u8 *out, unsigned int capacity)
{
    acomp_request_set_callback(request, 0, NULL, NULL);
    acomp_request_set_src_nondma(request, in, size);
    acomp_request_set_dst_nondma(request, out, capacity);
}

static inline int fpswap_compress(fpswap_transform *request, const u8 *in, unsigned int size,
                                  u8 *out, unsigned int *capacity)
{
    int error;

    fpswap_transform_set(request, in, size, out, *capacity);
    error = crypto_acomp_compress(request);
    *capacity = request->dlen;
    return error;
}

static inline int fpswap_decompress(fpswap_transform *request, const u8 *in, unsigned int size,
                                    u8 *out, unsigned int *capacity)
{
    int error;

    fpswap_transform_set(request, in, size, out, *capacity);
    error = crypto_acomp_decompress(request);
    *capacity = request->dlen;
    return error;
}
#else
#include <linux/crypto.h>

typedef struct crypto_comp fpswap_transform;
#define fpswap_transform_open(name) crypto_alloc_comp(name, 0, 0)
#define fpswap_transform_close crypto_free_comp
#define fpswap_compress crypto_comp_compress
#define fpswap_decompress crypto_comp_decompress
#endif

#endif
