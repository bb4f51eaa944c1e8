/*
 * AES-CMAC with a key of 128 bits (RFC 4493, NIST SP 800-38B), for fp_flash_mac() of the pager
 *
 *     static struct fp_aes_cmac mac;
 *
 *     fp_aes_cmac_key(&mac, key);         // once, before fp_pager_start()
 *
 *     void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
 *                       uint8_t tag[FP_PAGER_TAG_BYTES])
 *     {
 *         fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
 *     }
 *
 *     void fp_flash_image_key(const uint8_t id[FP_PAGER_ID_BYTES]) // with FP_PAGER_HEADER
 *     {
 *         fp_aes_cmac_key(&mac, key);
 *         fp_aes_cmac_image_key(&mac, id);
 *     }
 *
 * `flashpager deploy --tag BYTES --mac aes-cmac` makes the same tags. The cipher is tiny-AES-c. Its S-box
 * is a table in memory: if that memory is cached, the time depends on the key. A chip with AES in
 * hardware does not need this file.
 */
#ifndef FLASHPAGER_AES_CMAC_H
#define FLASHPAGER_AES_CMAC_H

#include <stddef.h>
#include <stdint.h>

#define FP_AES_CMAC_KEY_BYTES 16
/* The size of a block of the cipher, and of the longest tag. */
#define FP_AES_CMAC_BYTES 16

/* A key with its round keys. Its fields are private to the library. */
struct fp_aes_cmac {
    uint8_t round_keys[176];
    uint8_t subkey[FP_AES_CMAC_BYTES];
};

/* Expands a key. */
void fp_aes_cmac_key(struct fp_aes_cmac *mac, const uint8_t key[FP_AES_CMAC_KEY_BYTES]);

/* Computes the MAC of `head` followed by `data`, and stores its first `tag_size` bytes, at most
 * FP_AES_CMAC_BYTES. */
void fp_aes_cmac(const struct fp_aes_cmac *mac, const uint8_t head[8], const uint8_t *data,
                 size_t size, uint8_t *tag, uint_fast8_t tag_size);

/* Replaces a key by that of an image: its CMAC of the image's id and the nine bytes "image key". For
 * fp_flash_image_key() of the pager: expand your own key first, each time. */
static inline void fp_aes_cmac_image_key(struct fp_aes_cmac *mac, const uint8_t id[8])
{
    static const uint8_t label[] = {'i', 'm', 'a', 'g', 'e', ' ', 'k', 'e', 'y'};
    uint8_t key[FP_AES_CMAC_KEY_BYTES];
    fp_aes_cmac(mac, id, label, sizeof(label), key, sizeof(key));
    fp_aes_cmac_key(mac, key);
}

#endif
