#include "firmware.h"

#include <string.h>

uint32_t terminal_errors;
uint32_t terminal_commands;

static struct aes128 aes;
static uint32_t random_state;
static uint32_t sessions;
static uint32_t contacts; /* records in use */
static uint32_t expected_balance;
static uint32_t expected_number;
static uint8_t response[APDU_MAX];
static size_t response_length;

void terminal_init(void)
{
    aes128_init(&aes, card_key);
    random_state = 0x1f123bb5;
    sessions = contacts = expected_balance = expected_number = 0;
}

/* Sends a command, and counts an error unless the card's status word is `status`. */
static bool exchange(const uint8_t header[4], const uint8_t *data, uint8_t length, uint16_t status)
{
    uint8_t command[APDU_MAX];
    memcpy(command, header, 4);
    command[4] = length;
    if (data != NULL)
        memcpy(command + 5, data, length);
    size_t bytes = card_process(command, data != NULL ? 5u + length : 5u, response);
    terminal_commands++;
    response_length = bytes - 2;
    bool as_expected = get16(response + bytes - 2) == status;
    terminal_errors += !as_expected;
    return as_expected;
}

static void expect(bool condition)
{
    terminal_errors += !condition;
}

static void select_application(void)
{
    static const uint8_t header[] = { 0x00, 0xa4, 0x04, 0x00 };
    static const uint8_t id[] = { 0xa0, 0x00, 0x00, 0x00, 0x01 };
    card_reset();
    exchange(header, id, sizeof id, 0x9000);
}

static void select_by_id(uint16_t id)
{
    static const uint8_t header[] = { 0x00, 0xa4, 0x00, 0x00 };
    uint8_t data[2];
    struct tlv size;
    put16(data, id);
    exchange(header, data, sizeof data, 0x9000);
    expect(tlv_find(response, response_length, 0x80, &size) && size.length == 2);
}

static void verify(const char *pin, uint16_t status)
{
    static const uint8_t header[] = { 0x00, 0x20, 0x00, 0x01 };
    exchange(header, (const uint8_t *)pin, 4, status);
}

static void authenticate(void)
{
    static const uint8_t challenge[] = { 0x00, 0x84, 0x00, 0x00 };
    static const uint8_t external[] = { 0x00, 0x82, 0x00, 0x00 };
    static const uint8_t internal[] = { 0x00, 0x88, 0x00, 0x00 };
    uint8_t mine[AES_BLOCK], proof[AES_BLOCK];
    exchange(challenge, NULL, AES_BLOCK, 0x9000);
    aes128_encrypt(&aes, response, proof);
    exchange(external, proof, sizeof proof, 0x9000);
    for (unsigned i = 0; i < sizeof mine; i += 4)
        put32(mine + i, random_next(&random_state));
    exchange(internal, mine, sizeof mine, 0x9000);
    aes128_decrypt(&aes, response, proof);
    expect(memcmp(proof, mine, sizeof mine) == 0);
}

static void transact(uint8_t kind, uint32_t amount, bool spoil, uint16_t status)
{
    const uint8_t header[] = { 0x80, kind, 0x00, 0x00 };
    uint8_t body[16], data[18], number[4], mac[8];
    purse_mac(kind, amount, expected_number, mac);
    mac[0] ^= spoil;
    put32(number, amount);
    tlv_put(tlv_put(body, 0x81, number, sizeof number), 0x8e, mac, sizeof mac);
    tlv_put(data, 0x70, body, sizeof body);
    if (exchange(header, data, sizeof data, status) && status == 0x9000) {
        expected_number++;
        expected_balance += kind == PURSE_CREDIT ? amount : (uint32_t)-amount;
        expect(get32(response) == expected_balance);
    }
}

static void read_log(void)
{
    uint8_t header[] = { 0x00, 0xb2, 0x00, 0x04 };
    select_by_id(FILE_LOG);
    for (uint8_t record = 1; record <= 4; record++) {
        header[2] = record;
        exchange(header, NULL, 16, 0x9000);
        if (response[0] != 0xff)
            expect(crc16_ccitt(0xffff, response, 14) == get16(response + 14));
    }
    header[2] = 200;
    exchange(header, NULL, 16, 0x6a83);
}

static void shopping_session(void)
{
    select_application();
    transact(PURSE_DEBIT, 100, false, 0x6982);
    verify("1234", 0x9000);
    transact(PURSE_CREDIT, 500 + random_next(&random_state) % 500, false, 0x9000);
    for (unsigned i = 0; i < 3; i++)
        transact(PURSE_DEBIT, 50 + random_next(&random_state) % 100, false, 0x9000);
    transact(PURSE_DEBIT, 90000000, false, 0x6985);
    transact(PURSE_CREDIT, 1000, true, 0x6982);
    read_log();
}

static void notes_session(void)
{
    uint8_t update[] = { 0x00, 0xd6, 0x00, 0x00 };
    uint8_t read[] = { 0x00, 0xb0, 0x00, 0x00 };
    uint8_t text[48];
    select_application();
    select_by_id(FILE_NOTES);
    exchange(read, NULL, 16, 0x6982);
    verify("0000", 0x63c2);
    verify("1234", 0x9000);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < sizeof text; j++)
            text[j] = (uint8_t)('a' + random_next(&random_state) % 26);
        update[3] = read[3] = (uint8_t)(random_next(&random_state) % (256 - sizeof text));
        exchange(update, text, sizeof text, 0x9000);
        exchange(read, NULL, sizeof text, 0x9000);
        expect(memcmp(response, text, sizeof text) == 0);
    }
    update[2] = 1;
    exchange(update, text, sizeof text, 0x6b00);
}

static void contacts_session(void)
{
    static const uint8_t append[] = { 0x00, 0xe2, 0x00, 0x00 };
    uint8_t update[] = { 0x00, 0xdc, 0x00, 0x04 };
    uint8_t read[] = { 0x00, 0xb2, 0x00, 0x04 };
    uint8_t contact[24];
    select_application();
    verify("1234", 0x9000);
    select_by_id(FILE_CONTACTS);
    memset(contact, ' ', sizeof contact);
    memcpy(contact, "contact", 7);
    put32(contact + 16, random_next(&random_state) & 0x7f7f7f7f);
    exchange(append, contact, sizeof contact, contacts < 10 ? 0x9000 : 0x6a84);
    contacts += contacts < 10;
    update[2] = read[2] = (uint8_t)(1 + random_next(&random_state) % contacts);
    exchange(update, contact, sizeof contact, 0x9000);
    exchange(read, NULL, sizeof contact, 0x9000);
    expect(memcmp(response, contact, sizeof contact) == 0);
    exchange(append, contact, 5, 0x6700);
}

static void issuer_session(void)
{
    static const uint8_t change[] = { 0x00, 0x24, 0x00, 0x01 };
    static const uint8_t unblock[] = { 0x00, 0x2c, 0x00, 0x01 };
    static const uint8_t serial[] = { 0x00, 0xca, 0x00, 0x5a };
    static const uint8_t holder[] = { 0x00, 0xca, 0x5f, 0x20 };
    static const uint8_t balance[] = { 0x80, 0x5c, 0x00, 0x00 };
    static const uint8_t unknown[] = { 0x00, 0x77, 0x00, 0x00 };
    static const uint8_t update[] = { 0x00, 0xd6, 0x00, 0x20 };
    struct tlv object;
    uint8_t stamp[4];
    select_application();
    authenticate();
    exchange(serial, NULL, 0, 0x9000);
    expect(tlv_find(response, response_length, 0x5a, &object) && get32(object.value) == 0x20100501);
    exchange(holder, NULL, 0, 0x9000);
    exchange(balance, NULL, 8, 0x9000);
    expect(get32(response) == expected_balance && get32(response + 4) == expected_number);
    exchange(unknown, NULL, 0, 0x6d00);
    verify("9999", 0x63c2);
    verify("9999", 0x63c1);
    verify("9999", 0x6983);
    verify("1234", 0x6983);
    exchange(unblock, (const uint8_t *)"4321", 4, 0x9000);
    exchange(change, (const uint8_t *)"43211234", 8, 0x9000);
    select_by_id(FILE_INFO);
    put32(stamp, sessions);
    exchange(update, stamp, sizeof stamp, 0x9000);
}

void terminal_session(uint32_t now)
{
    static void (*const kinds[])(void) = {
        shopping_session, notes_session, contacts_session, issuer_session,
    };
    (void)now;
    kinds[sessions % 4]();
    if (expected_balance > 50000) {
        select_application();
        verify("1234", 0x9000);
        transact(PURSE_DEBIT, expected_balance - 1000, false, 0x9000);
    }
    sessions++;
}
