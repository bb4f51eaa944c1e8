#include "firmware.h"

#include <string.h>

#define TICKS 1800

/* Tests AES with the vector of FIPS 197, appendix C.1. */
static bool aes_works(void)
{
    static const uint8_t expected[AES_BLOCK] = {
        0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
        0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a,
    };
    struct aes128 aes;
    uint8_t key[AES_BLOCK], plain[AES_BLOCK], out[AES_BLOCK];
    for (unsigned i = 0; i < AES_BLOCK; i++) {
        key[i] = (uint8_t)i;
        plain[i] = (uint8_t)(0x11 * i);
    }
    aes128_init(&aes, key);
    aes128_encrypt(&aes, plain, out);
    if (memcmp(out, expected, AES_BLOCK) != 0)
        return false;
    aes128_decrypt(&aes, out, out);
    return memcmp(out, plain, AES_BLOCK) == 0;
}

/* Tests SHA-256 with messages of FIPS 180-4: "abc", and one of two blocks. */
static bool sha_works(void)
{
    static const char *const messages[] = {
        "abc",
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    };
    static const uint8_t expected[][SHA256_BYTES] = {
        { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
          0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
          0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad },
        { 0x24, 0x8d, 0x6a, 0x61, 0xd2, 0x06, 0x38, 0xb8, 0xe5, 0xc0, 0x26,
          0x93, 0x0c, 0x3e, 0x60, 0x39, 0xa3, 0x3c, 0xe4, 0x59, 0x64, 0xff,
          0x21, 0x67, 0xf6, 0xec, 0xed, 0xd4, 0x19, 0xdb, 0x06, 0xc1 },
    };
    for (unsigned i = 0; i < 2; i++) {
        struct sha256 sha;
        uint8_t digest[SHA256_BYTES];
        sha256_init(&sha);
        sha256_update(&sha, (const uint8_t *)messages[i], strlen(messages[i]));
        sha256_final(&sha, digest);
        if (memcmp(digest, expected[i], sizeof digest) != 0)
            return false;
    }
    return true;
}

/* Tests HMAC with the first eight bytes of RFC 4231, test case 2. */
static bool hmac_works(void)
{
    static const uint8_t expected[] = { 0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e };
    uint8_t mac[SHA256_BYTES];
    hmac_sha256((const uint8_t *)"Jefe", 4, (const uint8_t *)"what do ya want for nothing?", 28, mac);
    return memcmp(mac, expected, sizeof expected) == 0;
}

static bool checksums_work(void)
{
    const uint8_t *check = (const uint8_t *)"123456789";
    return crc16_ccitt(0xffff, check, 9) == 0x29b1 && crc32_ieee(check, 9) == 0xcbf43926;
}

static bool journal_works(void)
{
    struct file *file = file_find(FILE_NOTES);
    uint32_t before = files_checksum();
    journal_begin(file, 10, 20);
    memset(file->data + 10, 0, 20);
    return journal_recover() && files_checksum() == before && !journal_recover();
}

static bool self_test(void)
{
    return aes_works() && sha_works() && hmac_works() && checksums_work() && journal_works();
}

int main(void)
{
    card_init();
    terminal_init();
    sensors_init();
    radio_init();
    if (!self_test()) {
        console_text("self-test failed\n");
        return 1;
    }
    scheduler_every(0, 3, sample_motion);
    scheduler_every(1, 10, sample_temperature);
    scheduler_every(2, 25, sample_light);
    scheduler_every(3, 6, radio_poll);
    scheduler_every(5, 40, terminal_session);
    scheduler_every(500, 500, report_statistics);
    uint32_t events = scheduler_run_until(TICKS);

    console_number("events ", events);
    console_number(", commands ", terminal_commands);
    console_number(", balance ", purse_balance());
    console_number(", unexpected answers ", terminal_errors);
    console_number("\nframes sent ", radio_counters.sent);
    console_number(", repeated ", radio_counters.retried);
    console_number(", received ", radio_counters.received);
    console_number(", lost ", radio_counters.lost);
    console_number(", digest ", radio_digest);
    console_text("\n");
    return terminal_errors == 0 && radio_counters.received > 0 ? 0 : 1;
}
