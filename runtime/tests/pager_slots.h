/*
 * Tests of the slots, in a chip whose power is cut at any program, erasure and mark, with the design of the
 * including file
 *
 * The chip is the one that slots.h describes. What a cut leaves is unstable: a page has up to three
 * contents, and reads as one of them, as a mixture, or not at all, and in another way after the next start.
 * The oracle knows the states that the journal may be in. After each start the state is one of these, its
 * slot holds a whole image, and all bytes are that image's. No block of a slot is erased that one of these
 * states names.
 *
 * The including file defines the design.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_HEADER 1
#define FP_PAGER_SLOTS 1
#ifndef FP_SLOTS_JOURNAL_BLOCKS
#define FP_SLOTS_JOURNAL_BLOCKS 5
#endif
#define FP_SLOTS_TRIES 2
#define FP_SLOTS_JOURNAL 0
#define FP_SLOTS_A (FP_SLOTS_JOURNAL + FP_SLOTS_JOURNAL_BLOCKS)
#define FP_SLOTS_B (FP_SLOTS_A + FP_SLOTS_BLOCKS)
#include "../pager/mac/aes_cmac.h"
#include "../pager/pager.c"

#include "../pager/slots/slots.c"

#define UNITS (FP_PAGER_FLASH_PAGE_BYTES / FP_PAGER_PAGE_BYTES)
#define SPARE_BYTES (FP_PAGER_TAG_AT + UNITS * FP_PAGER_TAG_BYTES)
#define ALL_BYTES (FP_PAGER_FLASH_PAGE_BYTES + SPARE_BYTES)
#define BLOCKS (FP_SLOTS_B + FP_SLOTS_BLOCKS)
#define PAGES (BLOCKS * FP_PAGER_BLOCK_PAGES)
#define IMAGE_PAGES_MOST (FP_PAGER_FLASH_PAGES - FP_PAGER_HEADER_PAGES)

/* A test, which an including file may leave out. */
#define TORTURE static __attribute__((unused))

enum page_state { BLANK, PROGRAMMED, UNSTABLE };

/* The readings of an unstable page: one of its contents, a mixture of two, any of them each time, or an error. */
enum mood { FIRST, SECOND, THIRD, MIXED, ANY, UNREADABLE, MOODS };

static struct {
    enum page_state state;
    enum mood mood;
    unsigned contents; /* of an unstable page: up to 3 */
    uint8_t bytes[3][ALL_BYTES];
} chip_pages[PAGES];
static bool is_bad[BLOCKS];
static bool is_worn[BLOCKS]; /* all operations fail */
static unsigned may_fail[3]; /* blocks of the journal, of slot A and of slot B that may still fail */
static uint64_t random_state;
static uint32_t until_cut; /* programs, erasures and marks; 0 for no cut */
static uint32_t until_failure; /* programs and erasures; 0 for none that has to fail */
static uint32_t operations, cuts, starts;
static uint32_t journal_programs;
static uint32_t exhausted; /* starts that found no block of the journal to write */
static bool is_off;
static bool has_failed; /* an operation has failed since the start, and no block can be marked bad */
static int forced_mood; /* of all unstable pages; -1 if each draws its own */

static uint32_t draw(uint32_t bound)
{
    return random_below(&random_state, bound);
}

static enum mood draw_mood(void)
{
    return forced_mood >= 0 ? (enum mood)forced_mood : (enum mood)draw(MOODS);
}

/* Copies what a page reads as now. Returns false if it cannot be read. */
static bool read_chip(uint32_t page, uint8_t *to)
{
    enum mood mood = chip_pages[page].mood;
    const unsigned contents = chip_pages[page].contents;
    const uint8_t *first = chip_pages[page].bytes[0], *second;
    EXPECT(page < PAGES);
    memcpy(to, first, ALL_BYTES);
    if (chip_pages[page].state != UNSTABLE)
        return true;
    if (mood == ANY)
        mood = (enum mood)draw(MOODS);
    first = chip_pages[page].bytes[mood < MIXED ? mood % contents : draw(contents)];
    second = chip_pages[page].bytes[draw(contents)];
    memcpy(to, first, ALL_BYTES);
    for (uint32_t i = 0; mood == MIXED && i < ALL_BYTES; i++) {
        const uint8_t mask = (uint8_t)draw(256);
        to[i] = (uint8_t)((first[i] & mask) | (second[i] & ~mask));
    }
    return mood != UNREADABLE;
}

/* Counts an operation. Returns true if the power is cut in it. */
static bool cut_now(void)
{
    operations++;
    if (!until_cut || --until_cut)
        return false;
    is_off = true;
    cuts++;
    return true;
}

static unsigned region_of(uint32_t block)
{
    return block < FP_SLOTS_A ? 0 : block < FP_SLOTS_B ? 1 : 2;
}

/* Returns true if an operation fails while the power is on. */
static bool fails_now(uint32_t block)
{
    unsigned *const left = &may_fail[region_of(block)];
    bool fails = (until_failure && !--until_failure) || is_worn[block];
    if (!fails && *left && !draw(40)) {
        --*left;
        fails = true;
    }
    has_failed |= fails && !FP_PAGER_BAD_BLOCKS;
    return fails;
}

/* Leaves a page between what it holds and other bytes. */
static void make_unstable(uint32_t page, const uint8_t *after)
{
    unsigned contents = chip_pages[page].state == UNSTABLE ? chip_pages[page].contents : 1;
    /* The last content gives way if there are three. */
    if (contents == 3)
        contents--;
    memcpy(chip_pages[page].bytes[contents], after, ALL_BYTES);
    chip_pages[page].contents = contents + 1;
    chip_pages[page].state = UNSTABLE;
    chip_pages[page].mood = draw_mood();
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

static uint8_t chip_byte(uint32_t page, uint32_t column)
{
    EXPECT(chip_pages[page].state == PROGRAMMED && !is_bad[page / FP_PAGER_BLOCK_PAGES]);
    return chip_pages[page].bytes[0][column];
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES PAGES
#define CHIP_BYTE(page, column) chip_byte(page, column)
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_slots_read_page(uint32_t page, uint_fast16_t column, uint8_t *to, uint_fast16_t size)
{
    uint8_t all[ALL_BYTES];
    if (is_off)
        return FP_PAGER_IO;
    EXPECT(column + size <= ALL_BYTES && !is_bad[page / FP_PAGER_BLOCK_PAGES]);
    chip.held[0] = CHIP_NOTHING;
    if (!read_chip(page, all))
        return FP_PAGER_CORRUPT;
    memcpy(to, all + column, size);
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_slots_program_page(uint32_t page, const uint8_t *bytes, uint_fast16_t size)
{
    const uint32_t block = page / FP_PAGER_BLOCK_PAGES;
    uint8_t all[ALL_BYTES];
    bool is_cut, fails;
    if (is_off)
        return FP_PAGER_IO;
    EXPECT(page < PAGES && size <= ALL_BYTES && !is_bad[block]);
    chip.held[0] = CHIP_NOTHING;
    for (uint32_t later = page; later < (block + 1) * FP_PAGER_BLOCK_PAGES; later++)
        EXPECT_EQ(chip_pages[later].state, BLANK);
    memset(all, 0xff, sizeof(all));
    memcpy(all, bytes, size);
    is_cut = cut_now();
    fails = !is_cut && fails_now(block);
    journal_programs += !region_of(block);
    if (fails || (is_cut && (forced_mood >= 0 || draw(4)))) {
        make_unstable(page, all);
        return FP_PAGER_IO;
    }
    if (is_cut && draw(2))
        return FP_PAGER_IO;
    chip_pages[page].state = PROGRAMMED;
    memcpy(chip_pages[page].bytes[0], all, sizeof(all));
    return is_cut ? FP_PAGER_IO : FP_PAGER_OK;
}

static void slot_is_erased(int slot);

FP_PAGER_API int fp_slots_erase_block(uint32_t block)
{
    const uint32_t first = block * FP_PAGER_BLOCK_PAGES;
    uint8_t blank[ALL_BYTES];
    bool is_cut, fails;
    if (is_off)
        return FP_PAGER_IO;
    EXPECT(block < BLOCKS && !is_bad[block]);
    if (region_of(block))
        slot_is_erased((int)region_of(block) - 1);
    memset(blank, 0xff, sizeof(blank));
    is_cut = cut_now();
    fails = !is_cut && fails_now(block);
    for (uint32_t page = first; page < first + FP_PAGER_BLOCK_PAGES; page++) {
        if (!is_cut && !fails) {
            chip_pages[page].state = BLANK;
            memcpy(chip_pages[page].bytes[0], blank, sizeof(blank));
        } else if (forced_mood >= 0 || draw(4)) {
            make_unstable(page, blank);
        } else if (chip_pages[page].state == BLANK) {
            chip_pages[page].state = PROGRAMMED; /* it reads blank, and takes no program */
        }
    }
    return is_cut || fails ? FP_PAGER_IO : FP_PAGER_OK;
}

#if FP_PAGER_BAD_BLOCKS
FP_PAGER_API int fp_slots_mark_bad(uint32_t block)
{
    bool is_cut;
    if (is_off)
        return FP_PAGER_IO;
    is_cut = cut_now();
    is_bad[block] = !is_cut || draw(2);
    return is_cut ? FP_PAGER_IO : FP_PAGER_OK;
}

FP_PAGER_API int fp_flash_is_bad(fp_flash_page block)
{
    EXPECT(block < BLOCKS);
    return is_off ? FP_PAGER_IO : is_bad[block];
}
#endif

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    (void)page;
    return error;
}

#include "pager_tags_port.h"

/* The states that the journal may be in, and what the slots hold: the id of a whole image, or 0. */
static struct {
    struct slots_state states[16];
    unsigned count;
    uint32_t images[2];
    uint32_t last; /* the last id that was given */
} oracle;

static bool is_equal(const struct slots_state *a, const struct slots_state *b)
{
    return a->confirmed == b->confirmed && a->trial == b->trial && a->starts == b->starts;
}

static bool is_possible(const struct slots_state *state)
{
    for (unsigned i = 0; i < oracle.count; i++)
        if (is_equal(&oracle.states[i], state))
            return true;
    return false;
}

static void may_be(struct slots_state state)
{
    if (is_possible(&state))
        return;
    EXPECT(oracle.count < 16);
    oracle.states[oracle.count++] = state;
}

static void must_be(struct slots_state state)
{
    oracle.count = 0;
    may_be(state);
}

/* An erasure begins: no state names the slot. */
static void slot_is_erased(int slot)
{
    for (unsigned i = 0; i < oracle.count; i++)
        EXPECT(oracle.states[i].confirmed != slot && oracle.states[i].trial != slot);
    oracle.images[slot] = 0;
}

static struct slots_state after_start(struct slots_state state)
{
    if (state.trial == FP_SLOTS_NONE_ || state.confirmed == FP_SLOTS_NONE_)
        return state;
    if (state.starts == FP_SLOTS_TRIES)
        return (struct slots_state){state.confirmed, FP_SLOTS_NONE_, 0};
    state.starts++;
    return state;
}

/* A call that writes a state has ended. */
static void written(struct slots_state state, int error)
{
    EXPECT(!error || is_off || error == FP_PAGER_BAD || (error == FP_PAGER_IO && has_failed));
    if (error)
        may_be(state);
    else
        must_be(state);
}

static uint32_t length_of(uint32_t id)
{
    return 1 + id * UINT32_C(2654435761) % FP_PAGER_IMAGE_BYTES;
}

static uint8_t image_byte(uint32_t id, uint32_t at)
{
    return (uint8_t)((at * UINT32_C(2654435761) ^ id * UINT32_C(2246822519)) >> 13);
}

/* The chip has power: unstable pages read in another way. */
static void turn_on(void)
{
    is_off = has_failed = false;
    for (uint32_t page = 0; page < PAGES; page++)
        chip_pages[page].mood = draw_mood();
    chip_reset();
    memset(&slots, 0, sizeof(slots));
    slots.running = FP_PAGER_NO_IMAGE;
    memset(&pager, 0, sizeof(pager));
}

/* Reads all bytes of an image that runs. */
static void check_bytes(uint32_t id)
{
    for (uint32_t at = 0; at < length_of(id); at++) {
        uint8_t byte;
        EXPECT_EQ(fp_pager_read(at, &byte, 1), 0);
        EXPECT_EQ(byte, image_byte(id, at));
    }
}

/* Starts the pager with the slot that was chosen, and checks all bytes. */
static void check_running(void)
{
    const uint32_t id = oracle.images[(int)slots.running];
    EXPECT(id);
    EXPECT_EQ(fp_pager_start(), 0);
    EXPECT_EQ(fp_pager_image()->version, id);
    EXPECT_EQ(fp_pager_image()->length, length_of(id));
    EXPECT_EQ(fp_pager_check(), 0);
    check_bytes(id);
}

/* Starts the device. Returns false if the power was cut. */
static bool boot(void)
{
    const unsigned before = oracle.count;
    bool is_known = false;
    int slot;
    starts++;
    turn_on();
    slot = fp_slots_choose();
    if (is_off) {
        for (unsigned i = 0; i < before; i++)
            may_be(after_start(oracle.states[i]));
        return false;
    }
    EXPECT(slot >= 0);
    for (unsigned i = 0; i < before && !is_known; i++) {
        const struct slots_state state = after_start(oracle.states[i]);
        is_known = is_equal(&state, &slots.state);
    }
    exhausted += !slots.is_settled && journal_programs && !has_failed;
    if (!is_known && !slots.is_settled) {
        /* No state can be written: all blocks of the journal may hold what a later start needs, or one fails. */
        for (unsigned i = 0; i < before && !is_known; i++)
            is_known = oracle.states[i].confirmed == slots.state.confirmed ||
                       after_start(oracle.states[i]).confirmed == slots.state.confirmed;
        if (!has_failed)
            EXPECT_EQ(fp_slots_confirm(), fp_slots_on_trial() ? FP_PAGER_BAD : FP_PAGER_OK);
    }
    EXPECT(is_known);
    if (slots.is_settled)
        must_be(slots.state);
    else
        for (unsigned i = 0; i < before; i++)
            may_be(after_start(oracle.states[i]));
    EXPECT_EQ(fp_slots_on_trial(), slots.state.trial != FP_SLOTS_NONE_);
    EXPECT_EQ(slot, fp_slots_on_trial() ? slots.state.trial : slots.state.confirmed);
    check_running();
    return true;
}

static void make_header(uint8_t *header, uint32_t id, const uint8_t *bytes)
{
    memset(header, 0, FP_PAGER_HEADER_BYTES);
    put_32(header, HEADER_MAGIC);
    put_32(header + AT_FORMAT, FP_PAGER_IMAGE_FORMAT);
    put_32(header + AT_DESIGN, design_number());
    put_32(header + AT_LENGTH, length_of(id));
    put_32(header + AT_VERSION, id);
    put_32(header + AT_ID, id);
    put_32(header + AT_IMAGE_CRC, crc_32(0, bytes, (uint_fast16_t)length_of(id)));
#if FP_PAGER_TAG_BYTES
    uint8_t head[8];
    put_32(head, id);
    put_32(head + 4, HEADER_NUMBER);
    fp_flash_image_key(header + AT_ID);
    fp_flash_mac(head, header, AT_TAG, header + AT_TAG);
#endif
    put_32(header + AT_CRC, crc_32(0, header, AT_CRC));
}

/* Adds the tags of a flash page of the image. The key is that of the image. */
static void add_tags(uint8_t *all, uint32_t page, uint32_t id)
{
#if FP_PAGER_TAG_BYTES
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        uint8_t head[8];
        put_32(head, id);
        put_32(head + 4, page * UNITS + unit);
        fp_flash_mac(head, all + unit * FP_PAGER_PAGE_BYTES, FP_PAGER_PAGE_BYTES,
                     all + FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT + unit * FP_PAGER_TAG_BYTES);
    }
#else
    (void)all;
    (void)page;
    (void)id;
#endif
}

/* A flash page of flash.bin, without its header. */
static void make_page(uint8_t *all, uint32_t page, uint32_t id)
{
    memset(all, 0xff, ALL_BYTES);
    for (uint32_t i = 0; i < FP_PAGER_FLASH_PAGE_BYTES; i++) {
        const uint32_t at = page * FP_PAGER_FLASH_PAGE_BYTES + i;
        if (at < length_of(id))
            all[i] = image_byte(id, at);
    }
    add_tags(all, page, id);
}

/* The damages of an image: a byte of it, a tag. */
enum damage { INTACT, WRONG_BYTE, WRONG_TAG, CUT_SHORT };

/* Writes an image as an update does. Returns an error, or 0. */
static int write_image(uint32_t id, enum damage damage)
{
    static uint8_t bytes[FP_PAGER_IMAGE_BYTES];
    uint8_t all[ALL_BYTES], header[FP_PAGER_HEADER_BYTES];
    const uint32_t pages = (length_of(id) - 1) / FP_PAGER_FLASH_PAGE_BYTES + 1;
    int error = 0;
    for (uint32_t i = 0; i < length_of(id); i++)
        bytes[i] = image_byte(id, i);
    make_header(header, id, bytes);
    for (uint32_t page = 0; !error && page < FP_PAGER_HEADER_PAGES; page++) {
        memset(all, 0xff, sizeof(all));
        for (uint32_t i = 0; i < FP_PAGER_FLASH_PAGE_BYTES; i++)
            if (page * FP_PAGER_FLASH_PAGE_BYTES + i < FP_PAGER_HEADER_BYTES)
                all[i] = header[page * FP_PAGER_FLASH_PAGE_BYTES + i];
        error = fp_slots_write(all, sizeof(all));
    }
    for (uint32_t page = 0; !error && page < pages - (damage == CUT_SHORT); page++) {
        make_page(all, page, id);
        if (page == pages - 1 && damage == WRONG_BYTE) {
            all[(length_of(id) - 1) % FP_PAGER_FLASH_PAGE_BYTES] ^= 1;
            add_tags(all, page, id);
        }
        if (page == pages - 1 && damage == WRONG_TAG)
            all[(FP_PAGER_FLASH_PAGE_BYTES + FP_PAGER_TAG_AT) % ALL_BYTES] ^= 1;
        error = fp_slots_write(all, sizeof(all));
    }
    restore_key();
    return error;
}

static enum damage draw_damage(void)
{
    if (draw(12))
        return INTACT;
    return draw(2) ? WRONG_BYTE : FP_PAGER_TAG_BYTES && draw(2) ? WRONG_TAG : CUT_SHORT;
}

/* Updates the device from the image that runs. Some updates are given up, and some images are damaged. */
static void update(enum damage damage, bool is_given_up)
{
    uint8_t buffer[FP_PAGER_FLASH_PAGE_BYTES];
    const uint8_t confirmed = slots.state.confirmed, other = confirmed == 0;
    const struct slots_state next = {confirmed, other, 0};
    int error = fp_slots_begin();
    written((struct slots_state){confirmed, FP_SLOTS_NONE_, 0}, error);
    if (error)
        return;
    oracle.last++;
    error = write_image(oracle.last, damage);
    EXPECT(!error || is_off || has_failed || FP_PAGER_BAD_BLOCKS);
    if (!is_off && slots.running >= 0)
        check_bytes(oracle.images[(int)slots.running]);
    if (error || is_given_up)
        return;
    /* A cut may come behind the state: the image is whole then. */
    if (damage == INTACT)
        oracle.images[other] = oracle.last;
    error = fp_slots_finish(buffer);
    if (damage == INTACT) {
        written(next, error);
        if (error && has_failed && !is_off && draw(2))
            written(next, fp_slots_finish(buffer));
    } else {
        EXPECT_EQ(error, is_off                ? FP_PAGER_IO
                         : damage == WRONG_TAG ? FP_PAGER_FORGED
                                               : FP_PAGER_NO_IMAGE);
        EXPECT_EQ(fp_slots_write(buffer, sizeof(buffer)), FP_PAGER_NO_IMAGE);
    }
}

/* A start, and what a firmware does then. */
static void live_once(void)
{
    until_cut = draw(8) ? 1 + draw(draw(4) ? 24 : 6) : 0;
    if (!boot())
        return;
    if (fp_slots_on_trial()) {
        const struct slots_state stays = {slots.state.trial, FP_SLOTS_NONE_, 0};
        const struct slots_state goes = {slots.state.confirmed, FP_SLOTS_NONE_, 0};
        EXPECT_EQ(fp_slots_begin(), FP_PAGER_BUSY);
        switch (draw(4)) {
        case 0:
            return;
        case 1:
            if (goes.confirmed == FP_SLOTS_NONE_) {
                EXPECT_EQ(fp_slots_reject(), FP_PAGER_NO_IMAGE);
                return;
            }
            const int slot = fp_slots_reject();
            written(goes, slot < 0 ? slot : 0);
            if (slot >= 0)
                check_running();
            return;
        default:
            written(stays, fp_slots_confirm());
        }
    }
    while (!is_off && !fp_slots_on_trial() && draw(3))
        update(draw_damage(), draw(10) == 0);
}

/* Writes an image to a slot as a programmer does. */
static void program_slot(int slot, uint32_t id)
{
    slots.state = (struct slots_state){slot ? 0 : FP_SLOTS_NONE_, FP_SLOTS_NONE_, 0};
    slots.is_writing = FP_SLOTS_WRITING_;
    slots.next_page = 0;
    oracle.last = id;
    while (write_image(id, INTACT)) {
        slots.is_writing = FP_SLOTS_WRITING_;
        slots.next_page = 0;
    }
    oracle.images[slot] = id;
    memset(&slots, 0, sizeof(slots));
}

/* Lets blocks go bad, from the start or as they are used; or lets operations fail without bad blocks. */
static void spoil_blocks(void)
{
#if FP_PAGER_BAD_BLOCKS
    may_fail[0] = draw(FP_SLOTS_JOURNAL_BLOCKS - 2);
    may_fail[1] = may_fail[2] = draw(FP_PAGER_BAD_BLOCKS + 1);
    if (may_fail[0] && draw(2)) {
        may_fail[0]--;
        is_bad[FP_SLOTS_JOURNAL + draw(FP_SLOTS_JOURNAL_BLOCKS)] = true;
    }
#else
    may_fail[0] = draw(8);
    may_fail[1] = may_fail[2] = draw(3);
#endif
}

static void new_device(uint64_t seed, bool is_blank, bool is_spoilt)
{
    random_state = seed;
    is_off = has_failed = false;
    until_cut = until_failure = 0;
    forced_mood = -1;
    memset(may_fail, 0, sizeof(may_fail));
    memset(is_bad, 0, sizeof(is_bad));
    memset(is_worn, 0, sizeof(is_worn));
    memset(chip_pages, 0, sizeof(chip_pages));
    for (uint32_t page = 0; page < PAGES; page++)
        memset(chip_pages[page].bytes[0], 0xff, ALL_BYTES);
    memset(&oracle, 0, sizeof(oracle));
    journal_programs = 0;
    must_be((struct slots_state){FP_SLOTS_NONE_, FP_SLOTS_NONE_, 0});
    memset(&pager, 0, sizeof(pager));
    if (is_spoilt)
        spoil_blocks();
    if (is_blank) {
        turn_on();
        EXPECT_EQ(fp_slots_begin(), FP_PAGER_NO_IMAGE);
        EXPECT_EQ(fp_slots_choose(), FP_PAGER_NO_IMAGE);
        EXPECT_EQ(fp_slots_reject(), FP_PAGER_NO_IMAGE);
        while (oracle.states[0].trial == FP_SLOTS_NONE_)
            update(INTACT, false);
    } else {
        const int slot = (int)draw(2);
        program_slot(slot, 1);
        must_be((struct slots_state){(uint8_t)slot, FP_SLOTS_NONE_, 0});
    }
}

/* Lives of devices, until the power was cut so often. */
TORTURE void live(uint32_t first, uint32_t most)
{
    const uint32_t cuts_before = cuts;
    uint32_t seed = first;
    for (; cuts - cuts_before < most; seed++) {
        test_at("seed %u, after %u cuts", seed, cuts);
        new_device(seed, seed % 4 == 0, seed % 3 == 0);
        for (unsigned start = 0; start < 60; start++)
            live_once();
    }
    if (getenv("FLASHPAGER_TEST_ROUNDS"))
        printf("    %u cuts, %u starts of %u devices; %u starts found no block to write\n", cuts, starts,
               seed - first, exhausted);
}

/* A device after an update that was confirmed, with a journal all of whose blocks show a state. */
static void updated_device(void)
{
    new_device(1, false, false);
    for (unsigned updates = 0; updates < 4; updates++) {
        EXPECT(boot());
        EXPECT_EQ(fp_slots_on_trial(), updates > 0);
        written((struct slots_state){slots.running, FP_SLOTS_NONE_, 0}, fp_slots_confirm());
        if (updates < 3)
            update(INTACT, false);
    }
    EXPECT(boot());
}

/* An update, the start of its image, and the confirmation, until the power is cut. */
static void update_and_confirm(void)
{
    update(INTACT, false);
    if (is_off || !boot())
        return;
    EXPECT(fp_slots_on_trial());
    written((struct slots_state){slots.running, FP_SLOTS_NONE_, 0}, fp_slots_confirm());
}

/* A start that is cut, with the way in which all unstable pages read. */
static bool boot_so(enum mood mood, uint32_t cut_at)
{
    forced_mood = (int)mood;
    until_cut = cut_at;
    const bool is_running = boot();
    until_cut = 0;
    return is_running;
}

/* Cuts at each operation of an update, then at each of the start behind it, with each way to read; then
 * another start that is cut, or an update that is. */
TORTURE void cut_everywhere(uint32_t rounds)
{
    enum { OF_START = 8 };
    uint32_t all;
    updated_device();
    operations = 0;
    update_and_confirm();
    all = operations;
    EXPECT(all > 15);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t k = 1; k <= all; k++)
            for (uint32_t j = 0; j <= OF_START; j++)
                for (unsigned moods = 0; moods < MOODS * MOODS; moods++) {
                    test_at("round %u, cuts at %u and %u, moods %u", round, k, j, moods);
                    updated_device();
                    random_state = (round * 64 + moods) * 4096 + k * 16 + j;
                    forced_mood = FIRST;
                    until_cut = k;
                    update_and_confirm();
                    EXPECT(is_off);
                    if (boot_so((enum mood)(moods % MOODS), j)) {
                        until_cut = 1 + draw(all);
                        if (fp_slots_on_trial())
                            written((struct slots_state){slots.running, FP_SLOTS_NONE_, 0}, fp_slots_confirm());
                        if (!is_off)
                            update(INTACT, false);
                    }
                    boot_so((enum mood)(moods / MOODS), draw(OF_START));
                    EXPECT(boot_so((enum mood)draw(MOODS), 0));
                    EXPECT(boot_so((enum mood)draw(MOODS), 0));
                }
}

/* A page of a state whose program was cut reads whole at one start, which erases the other slot, and reads
 * badly from then on. The device must not go back to the slot that is half erased. */
TORTURE void read_whole_once(void)
{
    for (uint32_t k = 1;; k++) {
        uint8_t buffer[FP_PAGER_FLASH_PAGE_BYTES];
        updated_device();
        const uint8_t other = slots.running == 0;
        const struct slots_state next = {slots.state.confirmed, other, 0};
        EXPECT_EQ(fp_slots_begin(), 0);
        EXPECT_EQ(write_image(++oracle.last, INTACT), 0);
        oracle.images[other] = oracle.last;
        forced_mood = SECOND;
        until_cut = k;
        written(next, fp_slots_finish(buffer));
        if (!is_off)
            return;
        EXPECT(boot_so(SECOND, 0));
        if (fp_slots_on_trial())
            written((struct slots_state){slots.running, FP_SLOTS_NONE_, 0}, fp_slots_confirm());
        until_cut = 1;
        forced_mood = FIRST;
        update(INTACT, false);
        EXPECT(is_off);
        for (unsigned mood = 0; mood < MOODS; mood++)
            EXPECT(boot_so((enum mood)mood, 0));
    }
}

/* An operation of fp_slots_finish() fails, with bad blocks or without, while the power is on. The image may be
 * named by the journal from then on, so the next update does not write to it before the journal has another
 * state. */
TORTURE void begin_after_failure(void)
{
    for (uint32_t k = 1;; k++)
        for (unsigned mood = 0; mood < MOODS; mood++) {
            uint8_t buffer[FP_PAGER_FLASH_PAGE_BYTES];
            test_at("failure at %u, mood %u", k, mood);
            updated_device();
            const uint8_t other = slots.running == 0;
            const struct slots_state next = {slots.state.confirmed, other, 0};
            EXPECT_EQ(fp_slots_begin(), 0);
            EXPECT_EQ(write_image(++oracle.last, INTACT), 0);
            oracle.images[other] = oracle.last;
            forced_mood = (int)mood;
            until_failure = k;
            written(next, fp_slots_finish(buffer));
            if (until_failure)
                return;
            update(INTACT, true);
            EXPECT(boot());
            update_and_confirm();
            EXPECT(boot());
        }
}

/* A block of the journal fails for good, and cannot be marked bad. The image that is confirmed runs at every
 * start, and updates are refused if the block may hide a state. */
TORTURE void worn_journal(void)
{
    unsigned refused = 0, updated = 0;
    for (uint32_t block = 0; block < FP_SLOTS_JOURNAL_BLOCKS; block++)
        for (unsigned mood = 0; mood < MOODS; mood++) {
            test_at("block %u, mood %u", block, mood);
            updated_device();
            is_worn[FP_SLOTS_JOURNAL + block] = true;
            forced_mood = (int)mood;
            for (unsigned life = 0; life < 4; life++) {
                const uint32_t before = oracle.images[(int)slots.running];
                if (fp_slots_on_trial())
                    written((struct slots_state){slots.running, FP_SLOTS_NONE_, 0}, fp_slots_confirm());
                if (!fp_slots_on_trial())
                    update(INTACT, false);
                EXPECT(boot());
                refused += oracle.images[(int)slots.running] == before;
                updated += oracle.images[(int)slots.running] == oracle.last;
            }
        }
    EXPECT(refused && updated);
}
