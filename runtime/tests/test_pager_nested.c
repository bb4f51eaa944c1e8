/*
 * Calls of the pager from within its port, as an interrupt makes them during a load
 *
 * Each of them is refused with FP_PAGER_BUSY, and no byte is wrong, neither then nor later. If a page
 * cannot be read, the pager calls fp_flash_failed() in the state before the reference, and this function
 * may use the pager.
 */
#include "test.h"

#include <stdint.h>
#include <string.h>

static uintptr_t running = 1; /* the context */

#define FP_PAGER_API static __attribute__((unused))
#define FP_PAGER_DESIGN_GIVEN
#define FP_PAGER_STATISTICS 1
#define FP_PAGER_POLICY FP_PAGER_CLOCK
#define FP_PAGER_LOOKUP FP_PAGER_TABLE
#define FP_PAGER_REGISTER FP_PAGER_RANDOM_COLUMN
#define FP_PAGER_FRAMES 5
#define FP_PAGER_PAGE_BYTES 64
#define FP_PAGER_FLASH_PAGE_BYTES 2048
#define FP_PAGER_IMAGE_BYTES 15498
#define FP_PAGER_CONTEXT() running
#include "../pager/pager.c"

enum { OPERATIONS = 100000, MOST_BYTES = 300, FAILS_EVERY = 4 };

static uint64_t random_state = 1;
static struct fp_cursor outer[2], inner, in_failure; /* the last one is fp_flash_failed()'s */
static unsigned depth, refused, served;

static uint8_t image_byte(uint32_t offset)
{
    return (uint8_t)((offset * UINT32_C(2654435761)) >> 24);
}

/* Takes bytes in one of the ways that there are, at any offset. Returns 0 or an error. */
static int take(struct fp_cursor *cursor)
{
    const uint32_t offset = random_below(&random_state, FP_PAGER_IMAGE_BYTES - MOST_BYTES);
    const uint32_t size = 1 + random_below(&random_state, MOST_BYTES);
    uint8_t bytes[MOST_BYTES];
    const uint8_t *page;
    switch (random_below(&random_state, 4)) {
    case 0: {
        const int error = fp_pager_read(offset, bytes, size);
        for (uint32_t i = 0; !error && i < size; i++)
            EXPECT_EQ(bytes[i], image_byte(offset + i));
        return error;
    }
    case 1:
        page = fp_pager_page((fp_page)(offset / FP_PAGER_PAGE_BYTES));
        for (uint32_t i = 0; page && i < FP_PAGER_PAGE_BYTES; i++)
            EXPECT_EQ(page[i], image_byte(offset / FP_PAGER_PAGE_BYTES * FP_PAGER_PAGE_BYTES + i));
        return page ? 0 : fp_pager_error();
    case 2:
        fp_cursor_jump(cursor, (fp_offset)offset);
        break;
    default:
        if (fp_cursor_tell(cursor) == FP_PAGER_IMAGE_BYTES)
            fp_cursor_jump(cursor, 0);
    }
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t at = fp_cursor_tell(cursor);
        int byte;
        if (at >= FP_PAGER_IMAGE_BYTES)
            break;
        byte = fp_cursor_byte(cursor);
        if (byte < 0) {
            EXPECT_EQ(fp_cursor_tell(cursor), at);
            return byte;
        }
        EXPECT_EQ(byte, image_byte(at));
    }
    return 0;
}

/* A call from a port function. The inner cursor is closed: an open one takes bytes without a call. */
static bool nested_call(void)
{
    if (depth || random_below(&random_state, 8))
        return random_below(&random_state, FAILS_EVERY) == 0;
    depth++;
    fp_cursor_close(&inner);
    EXPECT_EQ(random_below(&random_state, 64) ? take(&inner) : fp_pager_start(), FP_PAGER_BUSY);
    refused++;
    depth--;
    return random_below(&random_state, FAILS_EVERY) == 0;
}

_Noreturn static void illegal(const char *message)
{
    FAIL("illegal use of the chip: %s", message);
}

#define CHIP_ILLEGAL(message) illegal(message)
#define CHIP_PAGES ((FP_PAGER_IMAGE_BYTES - 1u) / FP_PAGER_FLASH_PAGE_BYTES + 1u)
#define CHIP_BYTE(page, column) image_byte((uint32_t)(page) * FP_PAGER_FLASH_PAGE_BYTES + (column))
#define CHIP_FAILS() nested_call()
#include "../pager/emulated/chip.h"

FP_PAGER_API int fp_flash_failed(fp_page page, int error)
{
    EXPECT(page < FP_PAGER_PAGES && error < 0);
    if (!depth) {
        depth++;
        served += take(&in_failure) == 0;
        depth--;
    }
    return random_below(&random_state, 2) ? 0 : error;
}

/* Takes what the cursor of fp_flash_failed() has in its window, if that is still open. */
static void take_window(void)
{
    while (in_failure.at != in_failure.end) {
        const uint32_t at = fp_cursor_tell(&in_failure);
        EXPECT_EQ(fp_cursor_byte(&in_failure), image_byte(at));
    }
}

static void nested_calls_are_refused(void)
{
    chip_reset();
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const int error = take(&outer[random_below(&random_state, 2)]);
        EXPECT(error == FP_PAGER_OK || error == FP_PAGER_IO);
        take_window();
    }
    EXPECT(refused > OPERATIONS / 10 && served > 100);
}

/* Calls of any kind from another context; the open cursor keeps its window, and its byte. */
static void other_contexts_are_refused(void)
{
    uint8_t byte;
    int first;
    chip_reset();
    EXPECT_EQ(fp_pager_start(), FP_PAGER_OK);
    fp_cursor_jump(&outer[0], 7000);
    do
        first = fp_cursor_byte(&outer[0]);
    while (first == FP_PAGER_IO);
    EXPECT_EQ(first, image_byte(7000));
    running = 2;
    for (uint32_t offset = 0; offset < FP_PAGER_IMAGE_BYTES; offset += FP_PAGER_PAGE_BYTES) {
        fp_cursor_jump(&inner, offset);
        EXPECT_EQ(fp_cursor_byte(&inner), FP_PAGER_BUSY);
        EXPECT_EQ(fp_cursor_tell(&inner), offset);
        EXPECT_EQ(fp_pager_read(offset, &byte, 1), FP_PAGER_BUSY);
        EXPECT(!fp_pager_page((fp_page)(offset / FP_PAGER_PAGE_BYTES)));
        EXPECT_EQ(fp_pager_error(), FP_PAGER_BUSY);
    }
    running = 1;
    EXPECT(outer[0].at);
    EXPECT_EQ(fp_cursor_byte(&outer[0]), image_byte(7001));
}

static const struct test tests[] = {
    {"pager_nested_calls_are_refused", nested_calls_are_refused},
    {"pager_other_contexts_are_refused", other_contexts_are_refused},
    {NULL, NULL},
};

TEST_LIST(tests)
