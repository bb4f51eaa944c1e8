#include "sd_spi.h"

/* Commands, answers and tokens. */
#define GO_IDLE 0u
#define SEND_IF_COND 8u
#define SET_BLOCKLEN 16u
#define READ_BLOCK 17u
#define SD_SEND_OP_COND 41u /* behind APP_CMD */
#define APP_CMD 55u
#define READ_OCR 58u
#define CRC_ON_OFF 59u
#define IDLE 0x01u
#define ILLEGAL 0x04u
#define ANSWER_NOT 0x80u /* not an answer yet */
#define TOKEN_BLOCK 0xfeu
#define LINE_HIGH 0xffu
#define IF_COND_3_VOLTS 0x1aaul
#define OP_COND_HIGH_CAPACITY 0x40000000ul
#define OCR_BLOCKS 0x40u /* in its first byte: addresses are numbers of blocks */

#define BLOCK_BYTES 512u
#define BLOCKS_A_PAGE (FP_PAGER_PAGE_BYTES / BLOCK_BYTES)
/* Bytes within which a card answers a command. */
#define ANSWER_POLLS 10u
/* Clocks before a card takes its first command, in bytes. */
#define WAKE_BYTES 10u
/* A block with its CRC, and some bytes of silence before. */
#define DRAIN_BYTES (BLOCK_BYTES + 88u)
/* Commands that bring a card into SPI mode: one that was in the middle of something misses the first. */
#define RESETS 8u

static struct {
    uint32_t block;    /* the card's next block of the page */
    uint8_t is_ready;  /* 1 after a start */
    uint8_t is_asked;  /* 1 if the card was asked for that block */
    uint8_t by_blocks; /* 1 if addresses are numbers of blocks */
    struct fp_sd_stat stat;
} sd;

static int sd_fails(enum fp_sd_failure failure)
{
    sd.stat.failure = failure;
    return FP_PAGER_IO;
}

/* Takes what a card may still send of a block that nobody wants. */
static void drain(void)
{
    fp_sd_select(1);
    (void)fp_sd_exchange(NULL, NULL, DRAIN_BYTES);
}

/* Deselects the card, and gives it the clocks in which it lets go of its line. */
static void leave(void)
{
    fp_sd_select(0);
    (void)fp_sd_exchange(NULL, NULL, 1);
    sd.is_asked = 0;
}

static uint8_t crc7(const uint8_t *bytes, uint_fast8_t size)
{
    uint8_t crc = 0;
    for (uint_fast8_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (uint_fast8_t bit = 0; bit < 8; bit++)
            crc = (uint8_t)(crc << 1 ^ (crc & 0x80u ? 0x12 : 0));
    }
    return crc;
}

static uint16_t crc16(const uint8_t *bytes, uint_fast16_t size)
{
    uint16_t crc = 0;
    for (uint_fast16_t i = 0; i < size; i++) {
        crc = (uint16_t)(crc >> 8 | crc << 8);
        crc ^= bytes[i];
        crc ^= (crc & 0xffu) >> 4;
        crc ^= (uint16_t)(crc << 12);
        crc ^= (uint16_t)((crc & 0xffu) << 5);
    }
    return crc;
}

/* Waits for a byte other than FFh. */
static int next_answer(uint8_t *answer, uint32_t polls)
{
    do {
        if (fp_sd_exchange(NULL, answer, 1))
            return sd_fails(FP_SD_BUS);
        if (*answer != LINE_HIGH)
            return FP_PAGER_OK;
        FP_SD_YIELD();
    } while (--polls);
    return sd_fails(FP_SD_SILENT);
}

/* Selects the card and sends a command; the answer R1 and `more` bytes behind it come back. The card stays
 * selected. */
static int command(uint_fast8_t number, uint32_t argument, uint8_t *answer, uint8_t *more,
                   uint_fast8_t more_bytes)
{
    uint8_t bytes[6] = {(uint8_t)(0x40u | number), (uint8_t)(argument >> 24), (uint8_t)(argument >> 16),
                        (uint8_t)(argument >> 8), (uint8_t)argument, 0};
    int error;
    bytes[5] = crc7(bytes, 5) | 1u;
    fp_sd_select(1);
    if (fp_sd_exchange(NULL, NULL, 1) || fp_sd_exchange(bytes, NULL, sizeof(bytes)))
        return sd_fails(FP_SD_BUS);
    error = next_answer(answer, ANSWER_POLLS);
    if (error)
        return error;
    if (*answer & ANSWER_NOT)
        return sd_fails(FP_SD_REFUSED);
    return more_bytes && fp_sd_exchange(NULL, more, more_bytes) ? sd_fails(FP_SD_BUS) : FP_PAGER_OK;
}

/* Sends a command that must be answered by `wanted`. */
static int must(uint_fast8_t number, uint32_t argument, uint8_t wanted)
{
    uint8_t answer;
    const int error = command(number, argument, &answer, NULL, 0);
    leave();
    if (error)
        return error;
    return answer == wanted ? FP_PAGER_OK : sd_fails(FP_SD_REFUSED);
}

/* Waits until the card has started by itself. `condition` says what the host can do. */
static int wait_started(uint32_t condition)
{
    for (uint32_t polls = FP_SD_POLLS / 16u + 1u; polls; polls--) {
        uint8_t answer = 0;
        /* The card may be ready before it says so in the answer of the second command. */
        int error = command(APP_CMD, 0, &answer, NULL, 0);
        leave();
        if (!error && !(answer & ~IDLE)) {
            error = command(SD_SEND_OP_COND, condition, &answer, NULL, 0);
            leave();
        }
        if (error)
            return error;
        if (!answer)
            return FP_PAGER_OK;
        if (answer != IDLE)
            return sd_fails(FP_SD_REFUSED);
        FP_SD_YIELD();
    }
    return sd_fails(FP_SD_SILENT);
}

/* Asks which version the card is of: a card of SD 1 does not know the command. */
static int ask_version(uint32_t *condition)
{
    uint8_t answer, echo[4];
    const int error = command(SEND_IF_COND, IF_COND_3_VOLTS, &answer, echo, sizeof(echo));
    leave();
    if (error)
        return error;
    *condition = answer & ILLEGAL ? 0 : OP_COND_HIGH_CAPACITY;
    if (*condition && (answer != IDLE || (echo[2] & 0x0fu) != 1u || echo[3] != 0xaau))
        return sd_fails(FP_SD_REFUSED);
    return FP_PAGER_OK;
}

static int ask_addresses(void)
{
    uint8_t answer, ocr[4];
    const int error = command(READ_OCR, 0, &answer, ocr, sizeof(ocr));
    leave();
    if (error)
        return error;
    sd.by_blocks = (ocr[0] & OCR_BLOCKS) != 0;
    return answer & ~IDLE ? sd_fails(FP_SD_REFUSED) : FP_PAGER_OK;
}

FP_PAGER_API int fp_sd_start(void)
{
    uint32_t condition = 0;
    int error;
    sd.is_ready = 0;
    fp_sd_clock(0);
    fp_sd_select(0);
    if (fp_sd_exchange(NULL, NULL, WAKE_BYTES))
        return sd_fails(FP_SD_BUS);
    for (uint_fast8_t resets = RESETS;;) {
        error = must(GO_IDLE, 0, IDLE);
        if (!error || !--resets)
            break;
        drain();
        leave();
    }
    if (!error)
        error = ask_version(&condition);
    if (!error)
        error = must(CRC_ON_OFF, 1, IDLE);
    if (!error)
        error = wait_started(condition);
    if (!error)
        error = ask_addresses();
    if (!error && !sd.by_blocks)
        error = must(SET_BLOCKLEN, BLOCK_BYTES, 0);
    if (error)
        return error;
    fp_sd_clock(1);
    sd.is_ready = 1;
    sd.stat.failure = FP_SD_FINE;
    return FP_PAGER_OK;
}

FP_PAGER_API const struct fp_sd_stat *fp_sd_stat(void)
{
    return &sd.stat;
}

/* Asks the card for the next block. It stays selected until the block has come. */
static int ask_block(void)
{
    uint8_t answer;
    const int error = command(READ_BLOCK, sd.by_blocks ? sd.block : sd.block * BLOCK_BYTES, &answer,
                              NULL, 0);
    if (!error && !answer) {
        sd.is_asked = 1;
        return FP_PAGER_OK;
    }
    leave();
    return error ? error : sd_fails(FP_SD_REFUSED);
}

FP_PAGER_API void fp_flash_load(fp_flash_page page, uint_fast16_t column)
{
    (void)column; /* 0: a flash page is a cache page */
    if (sd.is_asked) {
        drain();
        leave();
    }
    sd.block = FP_SD_FIRST_BLOCK + (uint32_t)page * BLOCKS_A_PAGE;
    if (sd.is_ready)
        (void)ask_block();
}

FP_PAGER_API int fp_flash_wait(void)
{
    if (sd.is_asked)
        return FP_PAGER_OK;
    sd.stat.failures++;
    return sd.is_ready ? FP_PAGER_IO : sd_fails(FP_SD_SILENT);
}

/* Receives the block that the card was asked for. */
static int receive_block(uint8_t *to)
{
    uint8_t token, crc[2];
    const int error = next_answer(&token, FP_SD_POLLS);
    if (error)
        return error;
    if (token != TOKEN_BLOCK)
        return sd_fails(FP_SD_REFUSED);
    if (fp_sd_exchange(NULL, to, BLOCK_BYTES) || fp_sd_exchange(NULL, crc, sizeof(crc)))
        return sd_fails(FP_SD_BUS);
    if ((uint16_t)(crc[0] << 8 | crc[1]) != crc16(to, BLOCK_BYTES))
        return sd_fails(FP_SD_CRC);
    return FP_PAGER_OK;
}

FP_PAGER_API int fp_flash_fetch(uint8_t *to, uint_fast16_t size)
{
    int error = FP_PAGER_OK;
    for (; !error && size; size -= BLOCK_BYTES, to += BLOCK_BYTES, sd.block++) {
        if (!sd.is_asked)
            error = ask_block();
        if (error)
            break;
        error = receive_block(to);
        if (error)
            drain();
        leave();
        sd.stat.blocks += !error;
    }
    sd.stat.failures += error != 0;
    if (!error)
        sd.stat.failure = FP_SD_FINE;
    return error;
}

/* A page is fetched whole: nothing is ever skipped. */
FP_PAGER_API void fp_flash_skip(uint_fast16_t size)
{
    (void)size;
}
