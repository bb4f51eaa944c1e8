/*
 * A store of homes, and the register that serves it, by the rules of docs/model.md, for pager_fuzz.h
 *
 * The contents of the homes are made up: neighbours, pages at random, pages that occur twice, and empty slots.
 * expect_served() follows the register slot by slot, and compares the counts of each fault.
 */
#ifndef FLASHPAGER_TESTS_PAGER_HOMES_H
#define FLASHPAGER_TESTS_PAGER_HOMES_H

#define HOME_PAGES ((unsigned)FP_PAGER_PAGES)
#define HOME_SLOTS ((unsigned)FP_PAGER_HOME_SLOTS)
#define HOME_NUMBER_BYTES ((unsigned)FP_PAGER_HOME_NUMBER_BYTES)
#define HOME_EMPTY (FP_PAGER_HOME_NUMBER_BYTES == 1 ? 0xffu : 0xffffu)

/* Returns the page in a slot of a home, or HOME_EMPTY. */
static unsigned homes_page(unsigned home, unsigned slot)
{
    const uint32_t draw = ((home * 131u + slot) * UINT32_C(2654435761)) >> 12;
    if (slot == 0)
        return home;
    if (home % 4 == 0)
        return home + slot < HOME_PAGES ? home + slot : HOME_EMPTY;
    if (draw % 8 == 0)
        return HOME_EMPTY;
    /* Few different pages, so that some stand in two slots. */
    return (home + 1 + draw % (HOME_SLOTS + 2)) % HOME_PAGES;
}

static uint8_t homes_byte(uint32_t home, uint32_t column)
{
    const unsigned header = HOME_SLOTS * HOME_NUMBER_BYTES;
    unsigned page, slot;
    EXPECT(home < HOME_PAGES);
    if (column < header)
        return (uint8_t)(homes_page(home, column / HOME_NUMBER_BYTES) >>
                         8 * (column % HOME_NUMBER_BYTES));
    slot = (column - header) / FP_PAGER_PAGE_BYTES;
    EXPECT(slot < HOME_SLOTS);
    page = homes_page(home, slot);
    EXPECT(page != HOME_EMPTY);
    return image_byte(page * FP_PAGER_PAGE_BYTES + (column - header) % FP_PAGER_PAGE_BYTES);
}

/* The home in the register, or HOME_PAGES, and its next slot. */
static struct {
    unsigned home, next;
} homes_register = {HOME_PAGES, 0};

/* Takes over what the pager holds, after faults that were not followed one by one. */
static void follow_register(void)
{
    homes_register.home = HOME_PAGES;
    if (pager.held != NO_FLASH_PAGE) {
        homes_register.home = (unsigned)pager.held;
        homes_register.next =
            (pager.column - HOME_SLOTS * HOME_NUMBER_BYTES) / (unsigned)FP_PAGER_PAGE_BYTES;
    }
}

/* Returns the slot that serves a page, or HOME_SLOTS. */
static unsigned homes_slot(unsigned page)
{
    const unsigned next = homes_register.next;
    unsigned slot = 0, end = HOME_SLOTS;
    if (homes_register.home == HOME_PAGES)
        return HOME_SLOTS;
#if REGISTER_IS(START_COLUMN)
    slot = next;
    if (next + FP_PAGER_MOST_SKIPPED + 1 < end)
        end = next + FP_PAGER_MOST_SKIPPED + 1;
#else
    if (next < HOME_SLOTS && homes_page(homes_register.home, next) == page)
        return next;
#endif
    while (slot < end && homes_page(homes_register.home, slot) != page)
        slot++;
    return slot < end ? slot : HOME_SLOTS;
}

/* Compares the counts of a fault that was served. A page that was tried again comes from its own home. */
static void expect_served(fp_page page, const struct fp_pager_stat *before)
{
    const unsigned header = HOME_SLOTS * HOME_NUMBER_BYTES;
    const unsigned next = homes_register.next;
    unsigned slot;
    EXPECT(trouble.often || stat.retries == before->retries);
    if (stat.retries != before->retries)
        homes_register.home = HOME_PAGES;
    slot = homes_slot((unsigned)page);
    const bool loads = slot == HOME_SLOTS;
    const uint32_t skipped = !loads && REGISTER_IS(START_COLUMN)
                                 ? (slot - next) * (uint32_t)FP_PAGER_PAGE_BYTES
                                 : 0;
    EXPECT_EQ(stat.loads - before->loads, loads);
    EXPECT_EQ(stat.other_page - before->other_page, loads);
    EXPECT_EQ(stat.forward - before->forward, !loads && slot >= next);
    EXPECT_EQ(stat.backward - before->backward, !loads && slot < next);
    EXPECT_EQ(stat.column_changes - before->column_changes,
              !loads && REGISTER_IS(RANDOM_COLUMN) && slot != next);
    EXPECT_EQ(stat.header_bytes_fetched - before->header_bytes_fetched, loads ? header : 0);
    EXPECT_EQ(stat.bytes_skipped - before->bytes_skipped, skipped);
    EXPECT_EQ(stat.bytes_fetched - before->bytes_fetched,
              (loads ? header : 0) + skipped + FP_PAGER_PAGE_BYTES);
    if (loads) {
        homes_register.home = (unsigned)page;
        slot = 0;
    }
    homes_register.next = slot + 1;
    EXPECT_EQ(pager.held, homes_register.home);
}

#endif
