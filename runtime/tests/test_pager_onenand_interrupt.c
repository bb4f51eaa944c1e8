/* Tests of the OneNAND port whose interrupt reports the end of a load: the chip is not polled. */
#define FP_ONENAND_INTERRUPT 1
#include "pager_onenand.h"

static uint32_t slept_for; /* the number of the load that is waited for */
static unsigned slept;     /* how often the port has slept for it */

static void time_goes_on(void)
{
    for (unsigned i = 0; i < 2; i++) {
        if (chip.die[i].left)
            chip_tick(&chip.die[i]);
        if (chip.die[i].interrupts & 0x8000u) {
            const uint16_t seen = chip.address_2;
            fp_onenand_interrupt();
            EXPECT_EQ(chip.address_2, seen);
            EXPECT(!(chip.die[i].interrupts & 0x8000u));
        }
    }
}

FP_PAGER_API int fp_onenand_sleep(void)
{
    const unsigned asked = chip.asked;
    EXPECT_EQ(fp_onenand_ask(), 1);
    EXPECT_EQ(chip.asked, asked);
    if (slept_for != chip.loads)
        slept = 0;
    slept_for = chip.loads;
    time_goes_on();
    return ++slept < 30;
}

/* The interrupt comes before the port waits. */
static void comes_early(void)
{
    chip_reset(1);
    fp_onenand_load(FP_ONENAND_FIRST_PAGE, 0, 4, 0);
    for (unsigned i = 0; i < 30; i++)
        time_goes_on();
    slept = 0;
    EXPECT_EQ(fp_onenand_wait(), 0);
    EXPECT_EQ(slept, 0);
    EXPECT_EQ(onenand.held[0], FP_ONENAND_FIRST_PAGE);
    /* An unexpected interrupt changes nothing. */
    chip.die[0].interrupts = 0x8010u;
    time_goes_on();
    EXPECT_EQ(fp_onenand_wait(), 0);
    EXPECT_EQ(onenand.held[0], FP_ONENAND_FIRST_PAGE);
}

static const struct test tests[] = {
    {"pager_onenand_interrupt_fuzz", fuzz},
    {"pager_onenand_interrupt_troubles", troubles},
    {"pager_onenand_interrupt_loads", loads},
    {"pager_onenand_interrupt_peeks", peeks},
    {"pager_onenand_interrupt_others", others},
    {"pager_onenand_interrupt_comes_early", comes_early},
    {NULL, NULL},
};

TEST_LIST(tests)
