/* What the headers of all blocks say, at a mount and before a format. */
#include "log_internal.h"

#include <string.h>

uint32_t fp_log_survey(struct fp_swap *store, struct block_header *newest)
{
    const struct fp_medium *medium = store->config->medium;
    struct fp_swap_log_state *log = &store->of.log;
    uint32_t newest_block = NOWHERE;
    uint32_t known = 0;
    uint64_t sum = 0;
    bool settled;
    uint32_t block;

    memset(newest, 0, sizeof(*newest));
    newest->next = NOWHERE;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct block_header header;

        memset(b, 0, sizeof(*b));
        if (medium->is_bad(medium->context, block)) {
            b->state = BLOCK_BAD;
            store->stat.bad_blocks++;
        } else if (fp_log_read_header(store, block, &header)) {
            b->sequence = header.sequence;
            b->erases = header.erases;
            b->pages = (uint16_t)header.epoch;
            sum += header.erases;
            known++;
            if (newest_block == NOWHERE || header.sequence > newest->sequence) {
                *newest = header;
                newest_block = block;
            }
        }
    }
    /* The next block has not been touched: nor may another one, taken in its place, be half
     * erased. */
    settled = newest->next < medium->block_count && log->blocks[newest->next].sequence != 0;
    for (block = 0; block < medium->block_count; block++) {
        struct fp_swap_block *b = &log->blocks[block];
        struct directory directory;
        bool blank;
        uint32_t page;

        if (b->state == BLOCK_BAD || b->sequence != 0) {
            continue;
        }
        blank = fp_log_is_blank(store, block * pages_per_block(store));
        if (block == newest->next) {
            b->erases = newest->next_erases;
        } else {
            /* A blank one is new, unless all have been used: then a power cut has erased
             * what says otherwise. */
            uint32_t mean = known ? (uint32_t)(sum / known) : 0;

            b->erases = mean > 1u || !blank ? mean : 0;
        }
        /* Its header cannot be read; what follows may say whose it is. */
        for (page = 0;
             page < (settled && !blank ? pages_per_block(store) : 2u) && b->sequence == 0;
             page++) {
            if (!fp_log_load_page(store, block * pages_per_block(store) + page, &directory)) {
                b->sequence = page_sequence(store, &directory);
                b->pages = page_epoch(store, &directory);
            }
        }
    }
    return newest_block;
}

uint16_t fp_log_count_pages(struct fp_swap *store, uint32_t block)
{
    struct directory directory;
    uint32_t pages = pages_per_block(store);

    while (pages > 0 && fp_log_load_current_page(
                            store, block * pages_per_block(store) + pages - 1u, &directory)) {
        pages--;
    }
    return (uint16_t)pages;
}

void fp_log_find_lost_page(struct fp_swap *store, uint32_t block)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t other;

    for (other = 0; other < store->config->medium->block_count; other++) {
        struct block_header header;

        if (blocks[other].sequence > blocks[block].sequence &&
            fp_log_read_header(store, other, &header) && header.last_block == block &&
            header.last_pages == 1u && header.last_sequence > blocks[block].sequence) {
            blocks[block].sequence = header.last_sequence;
        }
    }
}

void fp_log_apply_header(struct fp_swap *store, const struct block_header *header)
{
    struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t count = store->config->medium->block_count;
    uint32_t block;

    if (header->last_block < count && header->last_pages > 0 &&
        header->last_pages <= pages_per_block(store) &&
        blocks[header->last_block].sequence == header->last_sequence) {
        blocks[header->last_block].pages = header->last_pages;
    }
    for (block = 0; block < count && header->sequence - header->last_sequence > 1u; block++) {
        if (blocks[block].sequence > header->last_sequence &&
            blocks[block].sequence < header->sequence) {
            blocks[block].pages = 0;
        }
    }
}

uint32_t fp_log_find_next_opened(struct fp_swap *store, uint32_t block)
{
    const struct fp_swap_block *blocks = store->of.log.blocks;
    uint32_t other;

    for (other = 0; other < store->config->medium->block_count; other++) {
        struct block_header header;

        if (blocks[other].sequence > blocks[block].sequence &&
            fp_log_read_header(store, other, &header) && header.last_block == block &&
            header.last_sequence == blocks[block].sequence) {
            return other;
        }
    }
    return NOWHERE;
}
