/* Interfaces between the parts of a smart-card and sensor application for the
 * LM3S6965. No part allocates memory; every buffer is static. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* semihosting.c: text output and exit through the debugger. */
void console_text(const char *text);
void console_number(const char *label, uint32_t value);
_Noreturn void console_exit(bool success);

/* crypto.c: FIPS 197, FIPS 180-4, RFC 2104. */
#define AES_BLOCK 16
#define SHA256_BYTES 32

struct aes128 {
    uint8_t round_keys[11][AES_BLOCK];
};
void aes128_init(struct aes128 *aes, const uint8_t key[AES_BLOCK]);
void aes128_encrypt(const struct aes128 *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK]);
void aes128_decrypt(const struct aes128 *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK]);
/* Encrypts or decrypts in place; `nonce` makes the first counter block. */
void aes128_ctr(const struct aes128 *aes, uint32_t nonce, uint8_t *data, size_t length);

struct sha256 {
    uint32_t state[8];
    uint32_t length;
    uint8_t block[64];
};
void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, const uint8_t *data, size_t length);
void sha256_final(struct sha256 *sha, uint8_t digest[SHA256_BYTES]);
void hmac_sha256(const uint8_t *key, size_t key_length, const uint8_t *data, size_t length,
                 uint8_t mac[SHA256_BYTES]);
bool equal_constant_time(const uint8_t *a, const uint8_t *b, size_t length);

/* codec.c: byte order, checksums, BER-TLV, a pseudo-random generator. */
uint16_t get16(const uint8_t *p);
uint32_t get32(const uint8_t *p);
void put16(uint8_t *p, uint16_t value);
void put32(uint8_t *p, uint32_t value);
uint16_t crc16_ccitt(uint16_t crc, const uint8_t *data, size_t length);
uint32_t crc32_ieee(const uint8_t *data, size_t length);
uint32_t random_next(uint32_t *state);

struct tlv {
    uint32_t tag;
    const uint8_t *value;
    size_t length;
};
/* Reads the next object in [*p, end) and advances *p. False at the end or if it is malformed. */
bool tlv_next(const uint8_t **p, const uint8_t *end, struct tlv *out);
/* Finds `tag` at any depth. */
bool tlv_find(const uint8_t *data, size_t length, uint32_t tag, struct tlv *out);
uint8_t *tlv_put(uint8_t *p, uint32_t tag, const uint8_t *value, size_t length);

/* files.c: ISO 7816-4 elementary files in simulated EEPROM. */
enum file_kind { FILE_TRANSPARENT, FILE_LINEAR, FILE_CYCLIC };
enum access { ACCESS_FREE, ACCESS_PIN, ACCESS_KEY, ACCESS_NEVER };

struct file {
    uint16_t id;
    uint8_t kind;
    uint8_t read_access;
    uint8_t update_access;
    uint8_t record_bytes;
    uint8_t records;
    uint8_t newest;
    uint16_t bytes;
    uint8_t *data;
};
#define FILE_INFO 0x2F01
#define FILE_NOTES 0x2F02
#define FILE_CONTACTS 0x2F03
#define FILE_LOG 0x2F04

void files_format(void);
struct file *file_find(uint16_t id);
bool file_read(const struct file *file, size_t offset, uint8_t *out, size_t length);
bool file_update(struct file *file, size_t offset, const uint8_t *in, size_t length);
/* Records are numbered from 1, which is the newest in a cyclic file. NULL if there is none. */
uint8_t *file_record(const struct file *file, unsigned number);
bool file_append(struct file *file, const uint8_t *in, size_t length);
/* A write interrupted by power loss is undone at the next start. */
void journal_begin(struct file *file, size_t offset, size_t length);
void journal_commit(void);
bool journal_recover(void);
uint32_t files_checksum(void);

/* purse.c */
enum purse_result { PURSE_OK, PURSE_FUNDS, PURSE_LIMIT, PURSE_MAC };
void purse_init(void);
uint32_t purse_balance(void);
uint32_t purse_transactions(void);
/* The terminal's MAC covers kind, amount and the transaction number. */
void purse_mac(uint8_t kind, uint32_t amount, uint32_t number, uint8_t mac[8]);
enum purse_result purse_transact(uint8_t kind, uint32_t amount, const uint8_t mac[8]);
#define PURSE_CREDIT 0x50
#define PURSE_DEBIT 0x54

/* card.c: the card's side of the APDU exchange. card_process() returns the length
 * of the response with its status word. */
#define APDU_MAX 261
void card_init(void);
void card_reset(void);
size_t card_process(const uint8_t *command, size_t length, uint8_t response[APDU_MAX]);
extern const uint8_t card_key[AES_BLOCK];

/* terminal.c: the reader's side of the exchange: scripted sessions with the card. */
void terminal_init(void);
void terminal_session(uint32_t now);
extern uint32_t terminal_errors;
extern uint32_t terminal_commands;

/* filter.c: fixed point, Q15 coefficients. */
struct low_pass {
    int32_t state;
};
struct median5 {
    int16_t window[5];
    uint8_t at;
};
struct fir8 {
    int16_t window[8];
    uint8_t at;
};
struct biquad {
    int32_t x1, x2, y1, y2;
};
struct statistics {
    int32_t minimum, maximum, sum;
    uint32_t squares, count;
};
int16_t low_pass_step(struct low_pass *f, int16_t sample);
int16_t median5_step(struct median5 *f, int16_t sample);
int16_t fir8_step(struct fir8 *f, int16_t sample);
int16_t biquad_step(struct biquad *f, int16_t sample);
void statistics_reset(struct statistics *s);
void statistics_add(struct statistics *s, int16_t sample);
uint16_t statistics_rms(const struct statistics *s);
uint16_t square_root(uint32_t value);

/* sensors.c */
void sensors_init(void);
void sample_temperature(uint32_t now);
void sample_light(uint32_t now);
void sample_motion(uint32_t now);
void report_statistics(uint32_t now);

/* radio.c: framed, encrypted packets over a medium that loses some. */
void radio_init(void);
bool radio_send(uint8_t kind, const uint8_t *payload, size_t length);
void radio_poll(uint32_t now);
struct radio_counters {
    uint32_t sent, retried, lost, received, dropped, bad;
};
extern struct radio_counters radio_counters;
extern uint16_t radio_digest; /* over all payloads that arrived */

/* scheduler.c: periodic tasks in a binary heap ordered by time. */
typedef void (*task_fn)(uint32_t now);
bool scheduler_every(uint32_t first, uint32_t period, task_fn run);
uint32_t scheduler_run_until(uint32_t end); /* returns the number of calls of tasks */

#endif
