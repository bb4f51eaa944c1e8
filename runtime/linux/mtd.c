/* flashpager-swap-mtd: any MTD as a medium of flashpager-swap, which finds it with symbol_get(). */
#define pr_fmt(fmt) "flashpager-swap-mtd: " fmt

#include "fpswap.h"

#include <linux/list.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mutex.h>
#include <linux/slab.h>

/* Program size for an MTD that takes smaller writes than a log needs. */
#define LEAST_PROGRAM_BYTES 512u
/* MTD numbers that are searched for a name. */
#define NUMBERS 256

struct mtd_medium {
    struct fpswap_mtd shown;
    struct mtd_info *mtd;
    struct list_head open;
};

static LIST_HEAD(all_open);
static DEFINE_MUTEX(open_lock);

static loff_t address(const struct mtd_medium *it, u32 block, u32 offset)
{
    return (loff_t)block * it->mtd->erasesize + offset;
}

static int read_bytes(void *context, u32 block, u32 offset, void *data, u32 size)
{
    struct mtd_medium *it = context;
    size_t done = 0;
    int error = mtd_read(it->mtd, address(it, block, offset), size, &done, data);

    atomic64_add(done, &it->shown.read_bytes);
    if (mtd_is_bitflip(error))
        return FP_MEDIUM_CORRECTED;
    return error || done != size ? FP_MEDIUM_IO : FP_MEDIUM_OK;
}

static int program_bytes(void *context, u32 block, u32 offset, const void *data, u32 size)
{
    struct mtd_medium *it = context;
    size_t done = 0;
    int error = mtd_write(it->mtd, address(it, block, offset), size, &done, data);

    atomic64_add(done, &it->shown.programmed_bytes);
    return error || done != size ? FP_MEDIUM_IO : FP_MEDIUM_OK;
}

static int erase_block(void *context, u32 block)
{
    struct mtd_medium *it = context;
    struct erase_info erase = {.addr = address(it, block, 0), .len = it->mtd->erasesize};

    return mtd_erase(it->mtd, &erase) ? FP_MEDIUM_IO : FP_MEDIUM_OK;
}

static bool is_bad(void *context, u32 block)
{
    struct mtd_medium *it = context;

    return mtd_block_isbad(it->mtd, address(it, block, 0)) > 0;
}

static int mark_bad(void *context, u32 block)
{
    struct mtd_medium *it = context;

    return mtd_block_markbad(it->mtd, address(it, block, 0)) ? FP_MEDIUM_IO : FP_MEDIUM_OK;
}

static void sync_medium(struct fpswap_mtd *shown)
{
    mtd_sync(container_of(shown, struct mtd_medium, shown)->mtd);
}

static void close_medium(struct fpswap_mtd *shown)
{
    struct mtd_medium *it = container_of(shown, struct mtd_medium, shown);

    mutex_lock(&open_lock);
    list_del(&it->open);
    mutex_unlock(&open_lock);
    put_mtd_device(it->mtd);
    kfree(it);
}

/* Finds an MTD by number or by name. */
static struct mtd_info *mtd_of(const char *name)
{
    int number;

    return kstrtoint(name, 10, &number) ? get_mtd_device_nm(name) : get_mtd_device(NULL, number);
}

/* Returns true if another MTD has the same name. */
static bool has_other(const struct mtd_info *mtd, bool (*alike)(const struct mtd_info *mtd,
                                                                const struct mtd_info *other))
{
    bool found = false;
    int number;

    for (number = 0; number < NUMBERS && !found; number++) {
        struct mtd_info *other = get_mtd_device(NULL, number);

        if (!IS_ERR(other)) {
            found = other != mtd && alike(mtd, other);
            put_mtd_device(other);
        }
    }
    return found;
}

static bool has_name(const struct mtd_info *mtd, const struct mtd_info *other)
{
    return strcmp(other->name, mtd->name) == 0;
}

static bool __maybe_unused has_owner(const struct mtd_info *mtd, const struct mtd_info *other)
{
    return other->owner == mtd->owner;
}

/* Returns true if another flashpager device uses the MTD. Needs open_lock. */
static bool is_ours(const struct mtd_info *mtd)
{
    const struct mtd_medium *other;

    list_for_each_entry (other, &all_open, open) {
        if (other->mtd == mtd)
            return true;
    }
    return false;
}

/* Returns true if a file system, UBI or a program uses the MTD. Kernels count that in different
 * ways; if it is unknown, the MTD counts as unused. */
static bool is_in_use(const struct mtd_info *mtd)
{
#ifdef FPSWAP_MTD_USECOUNT
    return mtd->usecount > 1;
#else
    if (mtd->parent || IS_ENABLED(CONFIG_MTD_PARTITIONED_MASTER))
        return kref_read(&mtd->refcnt) > 2; /* two uses: its existence, and ours */
#ifdef CONFIG_MODULE_UNLOAD
    /* Of a whole chip, only uses of its driver are counted: those of all its chips, by other
     * modules. */
    return mtd->owner && list_empty(&mtd->owner->source_list) && !has_other(mtd, has_owner) &&
           module_refcount(mtd->owner) > 1;
#else
    return false;
#endif
#endif
}

/* Returns what is wrong with the MTD, or NULL. Needs open_lock. */
static const char *unfit(const struct mtd_medium *it, const char *name, u64 bytes)
{
    if (strcmp(name, it->mtd->name) == 0 && has_other(it->mtd, has_name))
        return "another one has that name: take its number";
    if (is_ours(it->mtd) || is_in_use(it->mtd))
        return "it is in use: unmount, detach or close it, or take another one";
    if (!(it->mtd->flags & MTD_WRITEABLE))
        return "it is read-only: take another one";
    if (it->mtd->erasesize == 0 || it->mtd->numeraseregions > 1)
        return "its erase blocks are not all of a size: take a part of it where they are";
    if (bytes > it->mtd->size)
        return "it is smaller than medium_size: leave that out, or take less";
    return NULL;
}

struct fpswap_mtd *fpswap_mtd_open(const char *name, u64 bytes)
{
    struct mtd_medium *it = kzalloc(sizeof(*it), GFP_KERNEL);
    const char *wrong;
    struct mtd_info *mtd;

    if (!it)
        return ERR_PTR(-ENOMEM);
    mtd = mtd_of(name);
    if (IS_ERR(mtd)) {
        pr_err("medium=mtd:%s: there is none; see /proc/mtd\n", name);
        kfree(it);
        return ERR_PTR(-ENODEV);
    }
    it->mtd = mtd;
    mutex_lock(&open_lock);
    wrong = unfit(it, name, bytes);
    if (!wrong)
        list_add(&it->open, &all_open);
    mutex_unlock(&open_lock);
    if (wrong) {
        pr_err("medium=mtd:%s: %s\n", name, wrong);
        put_mtd_device(mtd);
        kfree(it);
        return ERR_PTR(-EINVAL);
    }
    it->shown.in_place = mtd->writesize == 1 && mtd->flags & MTD_NO_ERASE;
    it->shown.medium = (struct fp_medium){
        .context = it,
        .read = read_bytes,
        .program = program_bytes,
        .erase = erase_block,
        .is_bad = is_bad,
        .mark_bad = mark_bad,
        .program_bytes = max_t(u32, mtd->writesize, LEAST_PROGRAM_BYTES),
        .block_bytes = mtd->erasesize,
        .block_count = div_u64(bytes ? bytes : mtd->size, mtd->erasesize),
    };
    it->shown.sync = sync_medium;
    it->shown.close = close_medium;
    return &it->shown;
}
EXPORT_SYMBOL_GPL(fpswap_mtd_open);

MODULE_DESCRIPTION("flashpager: MTDs as media of flashpager-swap");
MODULE_LICENSE("Dual MIT/GPL");
