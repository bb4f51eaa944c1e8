#include "firmware.h"

#include <string.h>

#define SW_OK 0x9000
#define SW_WRONG_LENGTH 0x6700
#define SW_SECURITY 0x6982
#define SW_BLOCKED 0x6983
#define SW_CONDITIONS 0x6985
#define SW_NO_FILE_CHOSEN 0x6986
#define SW_WRONG_DATA 0x6a80
#define SW_FILE_NOT_FOUND 0x6a82
#define SW_RECORD_NOT_FOUND 0x6a83
#define SW_FILE_FULL 0x6a84
#define SW_WRONG_OFFSET 0x6b00
#define SW_UNKNOWN_INSTRUCTION 0x6d00
#define SW_UNKNOWN_CLASS 0x6e00
#define PIN_TRIES 3

const uint8_t card_key[AES_BLOCK] = "an example key!";

static const uint8_t application_id[] = { 0xa0, 0x00, 0x00, 0x00, 0x01 };

struct command {
    uint8_t p1, p2;
    const uint8_t *data;
    size_t length;   /* bytes of data */
    size_t expected; /* bytes that the response must have */
};

struct response {
    uint8_t *data;
    size_t length;
};

static struct {
    struct aes128 aes;
    uint8_t pin[4];
    uint8_t tries;
    bool selected, pin_verified, authenticated, challenge_valid;
    struct file *file;
    uint8_t challenge[AES_BLOCK];
    uint32_t random;
} card;

void card_init(void)
{
    memset(&card, 0, sizeof card);
    aes128_init(&card.aes, card_key);
    memcpy(card.pin, "1234", 4);
    card.tries = PIN_TRIES;
    card.random = 0x6b8b4567;
    files_format();
    purse_init();
}

void card_reset(void)
{
    card.selected = card.pin_verified = card.authenticated = card.challenge_valid = false;
    card.file = NULL;
    journal_recover();
}

static bool allowed(uint8_t access)
{
    switch (access) {
    case ACCESS_FREE:
        return true;
    case ACCESS_PIN:
        return card.pin_verified;
    case ACCESS_KEY:
        return card.authenticated;
    default:
        return false;
    }
}

static uint16_t select_file(const struct command *c, struct response *r)
{
    if (c->p1 == 4) {
        if (c->length != sizeof application_id ||
            memcmp(c->data, application_id, sizeof application_id) != 0)
            return SW_FILE_NOT_FOUND;
        card.selected = true;
        card.file = NULL;
        r->length = (size_t)(tlv_put(r->data, 0x84, application_id, sizeof application_id) - r->data);
        return SW_OK;
    }
    if (c->length != 2)
        return SW_WRONG_LENGTH;
    struct file *file = file_find(get16(c->data));
    if (file == NULL)
        return SW_FILE_NOT_FOUND;
    uint8_t body[8], size[2];
    put16(size, file->bytes);
    uint8_t *end = tlv_put(body, 0x80, size, sizeof size);
    end = tlv_put(end, 0x82, &file->kind, 1);
    r->length = (size_t)(tlv_put(r->data, 0x6f, body, (size_t)(end - body)) - r->data);
    card.file = file;
    return SW_OK;
}

static uint16_t verify_pin(const struct command *c, struct response *r)
{
    (void)r;
    if (c->length != sizeof card.pin)
        return SW_WRONG_LENGTH;
    if (card.tries == 0)
        return SW_BLOCKED;
    card.tries--; /* before the comparison, so that pulling the card gains nothing */
    card.pin_verified = equal_constant_time(c->data, card.pin, sizeof card.pin);
    if (!card.pin_verified)
        return card.tries == 0 ? SW_BLOCKED : (uint16_t)(0x63c0 | card.tries);
    card.tries = PIN_TRIES;
    return SW_OK;
}

static uint16_t change_pin(const struct command *c, struct response *r)
{
    if (c->length != 2 * sizeof card.pin)
        return SW_WRONG_LENGTH;
    struct command old = *c;
    old.length = sizeof card.pin;
    uint16_t status = verify_pin(&old, r);
    if (status == SW_OK)
        memcpy(card.pin, c->data + sizeof card.pin, sizeof card.pin);
    return status;
}

static uint16_t unblock_pin(const struct command *c, struct response *r)
{
    (void)r;
    if (!card.authenticated)
        return SW_SECURITY;
    if (c->length != sizeof card.pin)
        return SW_WRONG_LENGTH;
    memcpy(card.pin, c->data, sizeof card.pin);
    card.tries = PIN_TRIES;
    return SW_OK;
}

static uint16_t get_challenge(const struct command *c, struct response *r)
{
    (void)c;
    for (unsigned i = 0; i < AES_BLOCK; i += 4)
        put32(card.challenge + i, random_next(&card.random));
    card.challenge_valid = true;
    memcpy(r->data, card.challenge, AES_BLOCK);
    r->length = AES_BLOCK;
    return SW_OK;
}

/* The terminal proves that it has the key: it encrypts the card's challenge. */
static uint16_t external_authenticate(const struct command *c, struct response *r)
{
    uint8_t plain[AES_BLOCK];
    (void)r;
    if (c->length != AES_BLOCK)
        return SW_WRONG_LENGTH;
    if (!card.challenge_valid)
        return SW_CONDITIONS;
    card.challenge_valid = false;
    aes128_decrypt(&card.aes, c->data, plain);
    card.authenticated = equal_constant_time(plain, card.challenge, AES_BLOCK);
    return card.authenticated ? SW_OK : SW_SECURITY;
}

static uint16_t internal_authenticate(const struct command *c, struct response *r)
{
    if (c->length != AES_BLOCK)
        return SW_WRONG_LENGTH;
    aes128_encrypt(&card.aes, c->data, r->data);
    r->length = AES_BLOCK;
    return SW_OK;
}

static uint16_t check_file(bool records, bool update)
{
    if (card.file == NULL)
        return SW_NO_FILE_CHOSEN;
    if (records != (card.file->kind != FILE_TRANSPARENT))
        return SW_NO_FILE_CHOSEN;
    return allowed(update ? card.file->update_access : card.file->read_access) ? SW_OK : SW_SECURITY;
}

static uint16_t read_binary(const struct command *c, struct response *r)
{
    uint16_t status = check_file(false, false);
    if (status != SW_OK)
        return status;
    if (!file_read(card.file, (size_t)c->p1 << 8 | c->p2, r->data, c->expected))
        return SW_WRONG_OFFSET;
    r->length = c->expected;
    return SW_OK;
}

static uint16_t update_binary(const struct command *c, struct response *r)
{
    (void)r;
    uint16_t status = check_file(false, true);
    if (status != SW_OK)
        return status;
    return file_update(card.file, (size_t)c->p1 << 8 | c->p2, c->data, c->length) ? SW_OK
                                                                                  : SW_WRONG_OFFSET;
}

static uint16_t read_record(const struct command *c, struct response *r)
{
    uint16_t status = check_file(true, false);
    if (status != SW_OK)
        return status;
    const uint8_t *record = file_record(card.file, c->p1);
    if (record == NULL)
        return SW_RECORD_NOT_FOUND;
    memcpy(r->data, record, card.file->record_bytes);
    r->length = card.file->record_bytes;
    return SW_OK;
}

static uint16_t update_record(const struct command *c, struct response *r)
{
    (void)r;
    uint16_t status = check_file(true, true);
    if (status != SW_OK)
        return status;
    uint8_t *record = file_record(card.file, c->p1);
    if (record == NULL)
        return SW_RECORD_NOT_FOUND;
    if (c->length != card.file->record_bytes)
        return SW_WRONG_LENGTH;
    file_update(card.file, (size_t)(record - card.file->data), c->data, c->length);
    return SW_OK;
}

static uint16_t append_record(const struct command *c, struct response *r)
{
    (void)r;
    uint16_t status = check_file(true, true);
    if (status != SW_OK)
        return status;
    if (c->length != card.file->record_bytes)
        return SW_WRONG_LENGTH;
    return file_append(card.file, c->data, c->length) ? SW_OK : SW_FILE_FULL;
}

static uint16_t get_balance(const struct command *c, struct response *r)
{
    (void)c;
    put32(r->data, purse_balance());
    put32(r->data + 4, purse_transactions());
    r->length = 8;
    return SW_OK;
}

/* The data are a template 70 with the amount, tag 81, and the MAC, tag 8E. */
static uint16_t transact(uint8_t kind, const struct command *c, struct response *r)
{
    struct tlv amount, mac;
    if (!tlv_find(c->data, c->length, 0x81, &amount) || amount.length != 4 ||
        !tlv_find(c->data, c->length, 0x8e, &mac) || mac.length != 8)
        return SW_WRONG_DATA;
    if (kind == PURSE_DEBIT && !card.pin_verified)
        return SW_SECURITY;
    switch (purse_transact(kind, get32(amount.value), mac.value)) {
    case PURSE_OK:
        return get_balance(c, r);
    case PURSE_MAC:
        return SW_SECURITY;
    default:
        return SW_CONDITIONS;
    }
}

static uint16_t credit(const struct command *c, struct response *r)
{
    return transact(PURSE_CREDIT, c, r);
}

static uint16_t debit(const struct command *c, struct response *r)
{
    return transact(PURSE_DEBIT, c, r);
}

static uint16_t get_data(const struct command *c, struct response *r)
{
    struct tlv object;
    const struct file *info = file_find(FILE_INFO);
    uint32_t tag = c->p1 != 0 ? (uint32_t)c->p1 << 8 | c->p2 : c->p2;
    if (!tlv_find(info->data, info->bytes, tag, &object))
        return SW_WRONG_DATA;
    r->length = (size_t)(tlv_put(r->data, tag, object.value, object.length) - r->data);
    return SW_OK;
}

typedef uint16_t (*instruction_fn)(const struct command *c, struct response *r);

static const struct {
    uint8_t class, instruction;
    bool has_data;
    instruction_fn run;
} instructions[] = {
    { 0x00, 0xa4, true, select_file },
    { 0x00, 0x20, true, verify_pin },
    { 0x00, 0x24, true, change_pin },
    { 0x00, 0x2c, true, unblock_pin },
    { 0x00, 0x84, false, get_challenge },
    { 0x00, 0x82, true, external_authenticate },
    { 0x00, 0x88, true, internal_authenticate },
    { 0x00, 0xb0, false, read_binary },
    { 0x00, 0xd6, true, update_binary },
    { 0x00, 0xb2, false, read_record },
    { 0x00, 0xdc, true, update_record },
    { 0x00, 0xe2, true, append_record },
    { 0x00, 0xca, false, get_data },
    { 0x80, 0x5c, false, get_balance },
    { 0x80, 0x50, true, credit },
    { 0x80, 0x54, true, debit },
};

static bool parse(const uint8_t *bytes, size_t length, bool has_data, struct command *c)
{
    c->p1 = bytes[2];
    c->p2 = bytes[3];
    c->data = bytes + 5;
    c->length = has_data ? bytes[4] : 0;
    c->expected = has_data ? 0 : bytes[4];
    return length == 5 + c->length;
}

static uint16_t dispatch(const uint8_t *bytes, size_t length, struct response *r)
{
    bool class_known = false;
    struct command command;
    if (length < 5)
        return SW_WRONG_LENGTH;
    for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; i++) {
        class_known |= instructions[i].class == bytes[0];
        if (instructions[i].class != bytes[0] || instructions[i].instruction != bytes[1])
            continue;
        if (!card.selected && instructions[i].run != select_file)
            return SW_CONDITIONS;
        if (!parse(bytes, length, instructions[i].has_data, &command))
            return SW_WRONG_LENGTH;
        return instructions[i].run(&command, r);
    }
    return class_known ? SW_UNKNOWN_INSTRUCTION : SW_UNKNOWN_CLASS;
}

size_t card_process(const uint8_t *command, size_t length, uint8_t response[APDU_MAX])
{
    struct response r = { response, 0 };
    uint16_t status = dispatch(command, length, &r);
    put16(response + r.length, status);
    return r.length + 2;
}
