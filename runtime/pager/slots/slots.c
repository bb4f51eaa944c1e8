/* The slots: a journal of states, the choice of a slot, and updates. slots.h has the argument. */
#include "slots.h"

#ifndef FLASHPAGER_CORE_HEADER_H
#error "include slots.c behind pager.c"
#endif

/* Offsets in a record of the journal. Numbers have the least significant byte first. */
#define FP_SLOTS_RECORD_MAGIC_ 0x4a535046u /* "FPSJ" */
#define FP_SLOTS_RECORD_BYTES_ 32u
#define FP_SLOTS_RECORD_GENERATION_ 4u
#define FP_SLOTS_RECORD_PAGE_ 8u
#define FP_SLOTS_RECORD_CONFIRMED_ 9u
#define FP_SLOTS_RECORD_TRIAL_ 10u
#define FP_SLOTS_RECORD_STARTS_ 11u
#define FP_SLOTS_RECORD_CRC_ 28u

#define FP_SLOTS_NONE_ 0xffu
#define FP_SLOTS_WRITING_ 1u
#define FP_SLOTS_WRITTEN_ 2u

/* The equal pages of a state. Tests take fewer, to see that the torture finds it. */
#ifndef FP_SLOTS_STATE_PAGES_
#define FP_SLOTS_STATE_PAGES_ 3u
#endif
#if FP_SLOTS_STATE_PAGES_ < 3 && !defined(FP_SLOTS_TEST_)
#error "a cut can break a state of less than 3 pages: leave FP_SLOTS_STATE_PAGES_ undefined"
#endif
/* A block of which no more pages are seen holds no state that anything depends on. */
#define FP_SLOTS_DISPENSABLE_PAGES_ 1u
/* The pages seen of a bad block. */
#define FP_SLOTS_BAD_BLOCK_ 0xffu

struct slots_state {
    uint8_t confirmed; /* the slot that runs without a trial, or FP_SLOTS_NONE_ */
    uint8_t trial;     /* the slot on trial, or FP_SLOTS_NONE_ */
    uint8_t starts;    /* those of the trial */
};

/* A block of the journal, as it was read. */
struct journal_block {
    uint32_t generation; /* more than those that were seen when it was written */
    struct slots_state state;
    uint8_t pages; /* equal pages seen from the first one on; 0 for no state; or FP_SLOTS_BAD_BLOCK_ */
};

static struct {
    struct slots_state state;
    int8_t running; /* the chosen slot, or FP_PAGER_NO_IMAGE */
    uint8_t is_settled;
    uint8_t is_chosen;
    uint8_t is_on_trial;
    uint8_t is_writing; /* 0, FP_SLOTS_WRITING_, or FP_SLOTS_WRITTEN_ from fp_slots_finish() on */
    uint32_t next_page; /* of flash.bin */
    uint32_t block;     /* of the slot: the one that is written or read */
} slots = {.running = FP_PAGER_NO_IMAGE};

/* Ends a call, in which the port has used the chip's register. */
static int leave_slots(int result)
{
    pager.held = NO_FLASH_PAGE;
    forget_other_buffer();
    leave_pager();
    return result;
}

/* Reads bytes, and tries again while the chip does not answer. */
static int read_bytes(uint32_t page, uint_fast16_t column, uint8_t *to, uint_fast16_t size)
{
    uint_fast8_t tries = 0;
    int error;
    do {
        error = fp_slots_read_page(page, column, to, size);
    } while (error == FP_PAGER_IO && tries++ != FP_PAGER_RETRIES);
    return error;
}

#if FP_PAGER_BAD_BLOCKS
static int is_bad_block(uint32_t block)
{
    return fp_flash_is_bad((fp_flash_page)block);
}

/* Marks a block that has failed. Returns FP_PAGER_OK if another one can be taken. */
static int retire_block(uint32_t block)
{
    return fp_slots_mark_bad(block);
}
#else
static int is_bad_block(uint32_t block)
{
    (void)block;
    return 0;
}

static int retire_block(uint32_t block)
{
    (void)block;
    return FP_PAGER_IO;
}
#endif

static void make_record(uint8_t *record, uint32_t generation, const struct slots_state *state, uint8_t page)
{
    memset(record, 0, FP_SLOTS_RECORD_BYTES_);
    put_32(record, FP_SLOTS_RECORD_MAGIC_);
    put_32(record + FP_SLOTS_RECORD_GENERATION_, generation);
    record[FP_SLOTS_RECORD_PAGE_] = page;
    record[FP_SLOTS_RECORD_CONFIRMED_] = state->confirmed;
    record[FP_SLOTS_RECORD_TRIAL_] = state->trial;
    record[FP_SLOTS_RECORD_STARTS_] = state->starts;
    put_32(record + FP_SLOTS_RECORD_CRC_, crc_32(0, record, FP_SLOTS_RECORD_CRC_));
}

/* Counts the pages of one generation, from the first one on. Returns FP_PAGER_OK or FP_PAGER_IO. */
static int read_journal_block(uint32_t block, struct journal_block *found)
{
    uint8_t record[FP_SLOTS_RECORD_BYTES_];
    const int is_bad = is_bad_block(block);
    memset(found, 0, sizeof(*found));
    if (is_bad) {
        found->pages = FP_SLOTS_BAD_BLOCK_;
        return is_bad < 0 ? is_bad : FP_PAGER_OK;
    }
    for (; found->pages < FP_SLOTS_STATE_PAGES_; found->pages++) {
        const int error = read_bytes(block * FP_PAGER_BLOCK_PAGES + found->pages, 0, record, sizeof(record));
        if (error == FP_PAGER_IO)
            return error;
        if (error || get_32(record) != FP_SLOTS_RECORD_MAGIC_ ||
            record[FP_SLOTS_RECORD_PAGE_] != found->pages ||
            get_32(record + FP_SLOTS_RECORD_CRC_) != crc_32(0, record, FP_SLOTS_RECORD_CRC_) ||
            (found->pages && get_32(record + FP_SLOTS_RECORD_GENERATION_) != found->generation))
            break;
        found->generation = get_32(record + FP_SLOTS_RECORD_GENERATION_);
        found->state.confirmed = record[FP_SLOTS_RECORD_CONFIRMED_];
        found->state.trial = record[FP_SLOTS_RECORD_TRIAL_];
        found->state.starts = record[FP_SLOTS_RECORD_STARTS_];
    }
    return FP_PAGER_OK;
}

static int read_journal(struct journal_block *journal)
{
    int error = FP_PAGER_OK;
    for (uint_fast8_t i = 0; !error && i < FP_SLOTS_JOURNAL_BLOCKS; i++)
        error = read_journal_block(FP_SLOTS_JOURNAL + i, &journal[i]);
    return error;
}

/* Returns the newest block of which so many pages are seen, or -1. */
static int newest_block(const struct journal_block *journal, uint_fast8_t pages)
{
    int newest = -1;
    for (int i = 0; i < FP_SLOTS_JOURNAL_BLOCKS; i++)
        if (journal[i].pages != FP_SLOTS_BAD_BLOCK_ && journal[i].pages >= pages &&
            (newest < 0 || journal[i].generation > journal[newest].generation))
            newest = i;
    return newest;
}

/* Returns the block that a state is written to, or -1: one without a state; or the oldest one behind
 * which a settled one stands; or the oldest one on which nothing depends. */
static int block_to_write(const struct journal_block *journal)
{
    const int settled = newest_block(journal, FP_SLOTS_STATE_PAGES_);
    int best = -1;
    uint_fast8_t best_rank = 0;
    for (int i = 0; i < FP_SLOTS_JOURNAL_BLOCKS; i++) {
        const struct journal_block *const block = &journal[i];
        uint_fast8_t rank = 0;
        if (block->pages == FP_SLOTS_BAD_BLOCK_)
            continue;
        if (!block->pages)
            rank = 3;
        else if (settled >= 0 && block->generation < journal[settled].generation)
            rank = 2;
        else if (block->pages <= FP_SLOTS_DISPENSABLE_PAGES_)
            rank = 1;
        if (rank > best_rank ||
            (rank && rank == best_rank && block->generation < journal[best].generation)) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* Erases the block that a state is written to, and all blocks without a state: a cut may have left a state in
 * them that was not seen. Blocks that fail are marked bad. Returns 1 if the block to write is blank, 0 if it
 * is marked bad, or an error. */
static int clear_blocks(const struct journal_block *journal, int to)
{
    int is_blank = 1;
    for (int i = 0; i < FP_SLOTS_JOURNAL_BLOCKS; i++) {
        const uint32_t block = FP_SLOTS_JOURNAL + (uint32_t)i;
        int error;
        if ((i != to && journal[i].pages) || !fp_slots_erase_block(block))
            continue;
        error = retire_block(block);
        if (error)
            return error;
        if (i == to)
            is_blank = 0;
    }
    return is_blank;
}

/* Programs the pages of a state. Returns FP_PAGER_OK only if all of them are complete. */
static int program_state(int to, uint32_t generation, const struct slots_state *state)
{
    struct journal_block written;
    const uint32_t block = FP_SLOTS_JOURNAL + (uint32_t)to;
    int error = FP_PAGER_OK;
    for (uint8_t page = 0; !error && page < FP_SLOTS_STATE_PAGES_; page++) {
        uint8_t record[FP_SLOTS_RECORD_BYTES_];
        make_record(record, generation, state, page);
        error = fp_slots_program_page(block * FP_PAGER_BLOCK_PAGES + page, record, sizeof(record));
    }
    if (!error)
        error = read_journal_block(block, &written);
    if (!error && (written.pages != FP_SLOTS_STATE_PAGES_ || written.generation != generation))
        error = FP_PAGER_IO;
    return error;
}

/* Writes a state that is newer than all that are seen. Returns FP_PAGER_OK if it is settled, or an error. */
static int write_state(const struct slots_state *state)
{
    slots.is_settled = 0; /* after an error a start may see this state, or not */
    for (uint_fast8_t tries = 0; tries <= FP_SLOTS_JOURNAL_BLOCKS; tries++) {
        struct journal_block journal[FP_SLOTS_JOURNAL_BLOCKS];
        int result = read_journal(journal), to, newest;
        if (result)
            return result;
        to = block_to_write(journal);
        newest = newest_block(journal, 1);
        if (to < 0)
            return FP_PAGER_BAD;
        result = clear_blocks(journal, to);
        if (result < 0)
            return result;
        if (!result)
            continue;
        if (!program_state(to, newest < 0 ? 1 : journal[newest].generation + 1, state)) {
            slots.state = *state;
            slots.is_settled = 1;
            return FP_PAGER_OK;
        }
        result = retire_block(FP_SLOTS_JOURNAL + (uint32_t)to);
        if (result)
            return result;
    }
    return FP_PAGER_BAD;
}

static uint32_t first_block(int slot)
{
    return slot ? FP_SLOTS_B : FP_SLOTS_A;
}

/* Finds the next good block of a slot, from slots.block on. Returns FP_PAGER_OK or an error. */
static int find_good_block(int slot)
{
    for (; slots.block < FP_SLOTS_BLOCKS; slots.block++) {
        const int is_bad = is_bad_block(first_block(slot) + slots.block);
        if (is_bad <= 0)
            return is_bad;
    }
    return FP_PAGER_LARGE;
}

/* Turns to a flash page of the image or its header, after the one before. Returns FP_PAGER_OK or an error. */
static int turn_to_page(int slot, uint32_t page)
{
    if (page % FP_PAGER_BLOCK_PAGES)
        return FP_PAGER_OK;
    slots.block = page ? slots.block + 1 : 0;
    return find_good_block(slot);
}

static uint32_t page_in_slot(int slot, uint32_t page)
{
    return (first_block(slot) + slots.block) * FP_PAGER_BLOCK_PAGES + page % FP_PAGER_BLOCK_PAGES;
}

/* Reads the header of a slot, and leaves slots.block at its last page. */
static int read_slot_header(int slot, uint8_t *header)
{
    const uint_fast16_t size =
        FP_PAGER_FLASH_PAGE_BYTES < FP_PAGER_HEADER_BYTES ? FP_PAGER_FLASH_PAGE_BYTES : FP_PAGER_HEADER_BYTES;
    int error = FP_PAGER_OK;
    for (uint32_t page = 0; !error && page < FP_PAGER_HEADER_PAGES; page++) {
        error = turn_to_page(slot, page);
        if (!error && page * size < FP_PAGER_HEADER_BYTES)
            error = read_bytes(page_in_slot(slot, page), 0, header + page * size, size);
    }
    return error;
}

/* The state of a chip without a journal: the first slot that has a header. Returns 0 or FP_PAGER_IO. */
static int find_first_image(struct slots_state *state)
{
    uint8_t header[FP_PAGER_HEADER_BYTES];
    state->confirmed = state->trial = FP_SLOTS_NONE_;
    state->starts = 0;
    for (uint8_t slot = 0; slot < 2 && state->confirmed == FP_SLOTS_NONE_; slot++) {
        const int error = read_slot_header(slot, header);
        if (error == FP_PAGER_IO)
            return error;
        if (!error && get_32(header) == HEADER_MAGIC &&
            get_32(header + AT_CRC) == crc_32(0, header, AT_CRC))
            state->confirmed = slot;
    }
    return FP_PAGER_OK;
}

/* Takes the newest state that is seen. Returns 1 if it is settled, or if there is none yet; 0; or FP_PAGER_IO. */
static int find_state(void)
{
    struct journal_block journal[FP_SLOTS_JOURNAL_BLOCKS];
    int newest, error = read_journal(journal);
    slots.is_settled = 0;
    if (error)
        return error;
    newest = newest_block(journal, 1);
    if (newest < 0) {
        error = find_first_image(&slots.state);
        return error ? error : 1;
    }
    slots.state = journal[newest].state;
    slots.is_settled = journal[newest].pages == FP_SLOTS_STATE_PAGES_;
    /* A cut may have left a newer state in a block that shows none now. */
    for (uint_fast8_t i = 0; i < FP_SLOTS_JOURNAL_BLOCKS; i++)
        if (!journal[i].pages)
            slots.is_settled = 0;
    return slots.is_settled;
}

/* Counts a start of the image on trial, or ends its trial. An image without one before it has no end of its
 * trial. Returns 1 if the state has changed. */
static int count_start(struct slots_state *state)
{
    if (state->trial == FP_SLOTS_NONE_ || state->confirmed == FP_SLOTS_NONE_)
        return 0;
    if (state->starts < FP_SLOTS_TRIES) {
        state->starts++;
    } else {
        state->trial = FP_SLOTS_NONE_;
        state->starts = 0;
    }
    return 1;
}

/* Chooses the slot that the state names. */
static int take_slot(void)
{
    const uint8_t slot = slots.is_on_trial ? slots.state.trial : slots.state.confirmed;
    return slots.running = slot == FP_SLOTS_NONE_ ? (int8_t)FP_PAGER_NO_IMAGE : (int8_t)slot;
}

static int choose_slot(void)
{
    struct slots_state next;
    int result;
    slots.is_chosen = slots.is_on_trial = slots.is_writing = 0;
    result = find_state();
    if (result < 0)
        return result;
    next = slots.state;
    if (count_start(&next) || !result) {
        result = write_state(&next);
        /* After an error the confirmed image runs: a trial whose starts cannot be counted would have no end. */
        if (result && next.confirmed != FP_SLOTS_NONE_)
            slots.state.trial = FP_SLOTS_NONE_;
        if (result)
            slots.state.starts = 0;
    }
    slots.is_chosen = 1;
    slots.is_on_trial = slots.state.trial != FP_SLOTS_NONE_;
    return take_slot();
}

FP_PAGER_API int fp_slots_choose(void)
{
    const int error = enter_pager();
    return error ? error : leave_slots(choose_slot());
}

FP_PAGER_API uint32_t fp_slots_first_page(void)
{
    return first_block(slots.running > 0) * FP_PAGER_BLOCK_PAGES;
}

FP_PAGER_API int fp_slots_on_trial(void)
{
    return slots.is_on_trial;
}

/* Ends the trial with the slot that stays. Returns FP_PAGER_OK or an error. */
static int end_trial(uint8_t slot)
{
    const struct slots_state next = {slot, FP_SLOTS_NONE_, 0};
    int error = enter_pager();
    if (error)
        return error;
    error = write_state(&next);
    if (!error)
        slots.is_on_trial = 0;
    return leave_slots(error);
}

FP_PAGER_API int fp_slots_confirm(void)
{
    return slots.is_on_trial ? end_trial(slots.state.trial) : FP_PAGER_OK;
}

FP_PAGER_API int fp_slots_reject(void)
{
    int error;
    if (!slots.is_on_trial || slots.state.confirmed == FP_SLOTS_NONE_)
        return FP_PAGER_NO_IMAGE;
    error = end_trial(slots.state.confirmed);
    return error ? error : take_slot();
}

/* Returns the slot that an update writes. */
static int other_slot(void)
{
    return slots.state.confirmed == 0;
}

FP_PAGER_API int fp_slots_begin(void)
{
    const struct slots_state next = {slots.state.confirmed, FP_SLOTS_NONE_, 0};
    int error;
    if (!slots.is_chosen)
        return FP_PAGER_NO_IMAGE;
    if (slots.is_on_trial)
        return FP_PAGER_BUSY;
    error = enter_pager();
    if (error)
        return error;
    slots.is_writing = 0;
    /* From here on, no state that a start can see names the slot that is written. */
    if (!slots.is_settled || slots.state.trial != FP_SLOTS_NONE_)
        error = write_state(&next);
    slots.next_page = 0;
    slots.is_writing = !error;
    return leave_slots(error);
}

/* Turns to the next block of the slot, and erases it. Returns FP_PAGER_OK or an error. */
static int turn_to_blank_block(int slot)
{
    int error = turn_to_page(slot, slots.next_page);
    while (!error) {
        const uint32_t block = first_block(slot) + slots.block;
        if (slots.block - slots.next_page / FP_PAGER_BLOCK_PAGES > FP_PAGER_BAD_BLOCKS)
            return FP_PAGER_BAD;
        if (!fp_slots_erase_block(block))
            break;
        error = retire_block(block);
        if (!error)
            error = find_good_block(slot);
    }
    return error;
}

FP_PAGER_API int fp_slots_write(const uint8_t *page, uint_fast16_t size)
{
    const int slot = other_slot();
    int error;
    if (slots.is_writing != FP_SLOTS_WRITING_)
        return FP_PAGER_NO_IMAGE;
    error = enter_pager();
    if (error)
        return error;
    if (slots.next_page % FP_PAGER_BLOCK_PAGES == 0)
        error = turn_to_blank_block(slot);
    if (!error && fp_slots_program_page(page_in_slot(slot, slots.next_page), page, size)) {
        (void)retire_block(first_block(slot) + slots.block);
        error = FP_PAGER_IO;
    }
    slots.next_page++;
    slots.is_writing = error ? 0 : FP_SLOTS_WRITING_;
    return leave_slots(error);
}

#if FP_PAGER_TAG_BYTES
#if FP_PAGER_CODEWORD_BYTES > FP_PAGER_PAGE_BYTES
#define FP_SLOTS_TAGGED_BYTES_ FP_PAGER_CODEWORD_BYTES
#else
#define FP_SLOTS_TAGGED_BYTES_ FP_PAGER_PAGE_BYTES
#endif
#define FP_SLOTS_TAGS_A_PAGE_ (FP_PAGER_FLASH_PAGE_BYTES / FP_SLOTS_TAGGED_BYTES_)

/* Checks the tags of the first units of a flash page of the image. */
static int check_tags(uint32_t in_chip, uint32_t page, uint32_t version, const uint8_t *bytes,
                      uint_fast16_t size)
{
    int error = FP_PAGER_OK;
    for (uint_fast16_t i = 0; !error && i * FP_SLOTS_TAGGED_BYTES_ < size; i++) {
        uint8_t head[8], stored_tag[FP_PAGER_TAG_BYTES], right_tag[FP_PAGER_TAG_BYTES];
        put_32(head, version);
        put_32(head + 4, page * FP_SLOTS_TAGS_A_PAGE_ + (uint32_t)i);
        error = read_bytes(in_chip, FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT + i * FP_PAGER_TAG_BYTES,
                           stored_tag, sizeof(stored_tag));
        if (error)
            break;
        fp_flash_mac(head, bytes + i * FP_SLOTS_TAGGED_BYTES_, FP_SLOTS_TAGGED_BYTES_, right_tag);
        error = compare_tags(stored_tag, right_tag);
    }
    return error;
}

/* The key of the image that runs, which check_header() has replaced. */
static void restore_key(void)
{
    if (pager.image.length)
        fp_flash_image_key(pager.image.id);
}
#else
static int check_tags(uint32_t in_chip, uint32_t page, uint32_t version, const uint8_t *bytes,
                      uint_fast16_t size)
{
    (void)in_chip;
    (void)page;
    (void)version;
    (void)bytes;
    (void)size;
    return FP_PAGER_OK;
}

static void restore_key(void)
{
}
#endif

/* Reads the image back that was written. Returns FP_PAGER_OK or an error. */
static int check_slot(int slot, uint8_t *buffer)
{
    uint8_t header[FP_PAGER_HEADER_BYTES];
    uint32_t crc = 0, left, pages;
    int error = read_slot_header(slot, header);
    if (!error)
        error = check_header(header);
    if (error)
        return error;
    left = get_32(header + AT_LENGTH);
    pages = (left - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u;
    if (slots.next_page < FP_PAGER_HEADER_PAGES + pages)
        return FP_PAGER_NO_IMAGE;
    for (uint32_t page = 0; !error && page < pages; page++) {
        const uint_fast16_t size =
            left < FP_PAGER_FLASH_PAGE_BYTES ? (uint_fast16_t)left : FP_PAGER_FLASH_PAGE_BYTES;
        uint32_t in_chip;
        error = turn_to_page(slot, FP_PAGER_HEADER_PAGES + page);
        if (error)
            break;
        in_chip = page_in_slot(slot, FP_PAGER_HEADER_PAGES + page);
        error = read_bytes(in_chip, 0, buffer, FP_PAGER_FLASH_PAGE_BYTES);
        if (!error)
            error = check_tags(in_chip, page, get_32(header + AT_VERSION), buffer, size);
        crc = crc_32(crc, buffer, size);
        left -= (uint32_t)size;
    }
    if (!error && crc != get_32(header + AT_IMAGE_CRC))
        error = FP_PAGER_NO_IMAGE;
    return error;
}

FP_PAGER_API int fp_slots_finish(uint8_t *buffer)
{
    const struct slots_state next = {slots.state.confirmed, (uint8_t)other_slot(), 0};
    int error;
    if (!slots.is_writing)
        return FP_PAGER_NO_IMAGE;
    error = enter_pager();
    if (error)
        return error;
    slots.is_writing = FP_SLOTS_WRITTEN_;
    error = check_slot(other_slot(), buffer);
    restore_key();
    if (!error)
        error = write_state(&next);
    if (!error)
        slots.is_writing = 0;
    return leave_slots(error);
}
