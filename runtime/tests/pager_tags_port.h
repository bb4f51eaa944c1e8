/* The port of the tags in tests of images, with AES-CMAC. The including file has pager.c before it. */
static __attribute__((unused)) struct fp_aes_cmac mac;
static __attribute__((unused)) const uint8_t key[FP_AES_CMAC_KEY_BYTES] = {3, 1, 4, 1, 5};

#if FP_PAGER_TAG_BYTES
static uint32_t oldest;

FP_PAGER_API void fp_flash_mac(const uint8_t head[8], const uint8_t *data, uint_fast16_t size,
                               uint8_t tag[FP_PAGER_TAG_BYTES])
{
    fp_aes_cmac(&mac, head, data, size, tag, FP_PAGER_TAG_BYTES);
}

FP_PAGER_API void fp_flash_image_key(const uint8_t id[FP_PAGER_ID_BYTES])
{
    fp_aes_cmac_key(&mac, key);
    fp_aes_cmac_image_key(&mac, id);
}

FP_PAGER_API uint32_t fp_flash_oldest(void)
{
    return oldest;
}
#endif
