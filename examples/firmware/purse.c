#include "firmware.h"

#include <string.h>

#define BALANCE_LIMIT 100000

static uint32_t balance;
static uint32_t transactions;

void purse_init(void)
{
    balance = 0;
    transactions = 0;
}

uint32_t purse_balance(void)
{
    return balance;
}

uint32_t purse_transactions(void)
{
    return transactions;
}

void purse_mac(uint8_t kind, uint32_t amount, uint32_t number, uint8_t mac[8])
{
    uint8_t message[9], full[SHA256_BYTES];
    message[0] = kind;
    put32(message + 1, amount);
    put32(message + 5, number);
    hmac_sha256(card_key, AES_BLOCK, message, sizeof message, full);
    memcpy(mac, full, 8);
}

static void log_transaction(uint8_t kind, uint32_t amount)
{
    uint8_t record[16];
    put32(record, transactions);
    record[4] = kind;
    put32(record + 5, amount);
    put32(record + 9, balance);
    record[13] = 0;
    put16(record + 14, crc16_ccitt(0xffff, record, 14));
    file_append(file_find(FILE_LOG), record, sizeof record);
}

static enum purse_result apply(uint8_t kind, uint32_t amount)
{
    if (kind == PURSE_DEBIT) {
        if (amount > balance)
            return PURSE_FUNDS;
        balance -= amount;
        return PURSE_OK;
    }
    if (amount > BALANCE_LIMIT - balance)
        return PURSE_LIMIT;
    balance += amount;
    return PURSE_OK;
}

enum purse_result purse_transact(uint8_t kind, uint32_t amount, const uint8_t mac[8])
{
    uint8_t expected[8];
    purse_mac(kind, amount, transactions, expected);
    if (!equal_constant_time(mac, expected, sizeof expected))
        return PURSE_MAC;
    enum purse_result result = apply(kind, amount);
    if (result == PURSE_OK) {
        transactions++;
        log_transaction(kind, amount);
    }
    return result;
}
