#include "aes_cmac.h"

/* Only the encryption of a block, under names that do not clash with the program's own copy. */
#define CBC 0
#define CTR 0
#define ECB 1
#define AES_init_ctx fp_aes_init_ctx
#define AES_ECB_encrypt fp_aes_encrypt
#define AES_ECB_decrypt fp_aes_decrypt
#include "../../third_party/tiny-aes/aes.c"

#include <string.h>

/* Encrypts a block. The cipher's context consists of the round keys alone. */
static void encrypt(const struct fp_aes_cmac *mac, uint8_t block[FP_AES_CMAC_BYTES])
{
    AES_ECB_encrypt((const struct AES_ctx *)(const void *)mac->round_keys, block);
}

/* Multiplies a block by x in GF(2^128), in constant time. */
static void twice(uint8_t block[FP_AES_CMAC_BYTES])
{
    const uint8_t over = (uint8_t)(0x87 & (0u - (block[0] >> 7)));
    for (uint_fast8_t i = 0; i < FP_AES_CMAC_BYTES - 1; i++)
        block[i] = (uint8_t)(block[i] << 1 | block[i + 1] >> 7);
    block[FP_AES_CMAC_BYTES - 1] = (uint8_t)(block[FP_AES_CMAC_BYTES - 1] << 1 ^ over);
}

static void add(uint8_t block[FP_AES_CMAC_BYTES], const uint8_t other[FP_AES_CMAC_BYTES])
{
    for (uint_fast8_t i = 0; i < FP_AES_CMAC_BYTES; i++)
        block[i] ^= other[i];
}

void fp_aes_cmac_key(struct fp_aes_cmac *mac, const uint8_t key[FP_AES_CMAC_KEY_BYTES])
{
    AES_init_ctx((struct AES_ctx *)(void *)mac->round_keys, key);
    memset(mac->subkey, 0, sizeof(mac->subkey));
    encrypt(mac, mac->subkey);
    twice(mac->subkey);
}

/* Adds bytes to the current block. A full block is encrypted only when another byte follows, as the
 * last block is treated differently. Returns the number of bytes in the current block. */
static uint_fast8_t absorb(const struct fp_aes_cmac *mac, uint8_t block[FP_AES_CMAC_BYTES],
                           uint_fast8_t filled, const uint8_t *bytes, size_t size)
{
    for (; size > 0; size--) {
        if (filled == FP_AES_CMAC_BYTES) {
            encrypt(mac, block);
            filled = 0;
        }
        block[filled++] ^= *bytes++;
    }
    return filled;
}

void fp_aes_cmac(const struct fp_aes_cmac *mac, const uint8_t head[8], const uint8_t *data,
                 size_t size, uint8_t *tag, uint_fast8_t tag_size)
{
    uint8_t block[FP_AES_CMAC_BYTES] = {0}, last[FP_AES_CMAC_BYTES];
    uint_fast8_t filled = absorb(mac, block, 0, head, 8);
    filled = absorb(mac, block, filled, data, size);
    memcpy(last, mac->subkey, sizeof(last));
    if (filled != FP_AES_CMAC_BYTES) {
        block[filled] ^= 0x80;
        twice(last);
    }
    add(block, last);
    encrypt(mac, block);
    memcpy(tag, block, tag_size);
}
