/* The check of a whole image against its header. */
#ifndef FLASHPAGER_CORE_IMAGE_CHECK_H
#define FLASHPAGER_CORE_IMAGE_CHECK_H

#if FP_PAGER_HEADER
FP_PAGER_API int fp_pager_check(void)
{
    struct fp_cursor cursor = {0};
    uint32_t crc = 0, left = FP_PAGER_LENGTH_;
    int byte = left ? 0 : FP_PAGER_NO_IMAGE;
    for (; left > 0; left--) {
        uint8_t taken;
        byte = fp_cursor_byte(&cursor);
        if (byte < 0)
            break;
        taken = (uint8_t)byte;
        crc = crc_32(crc, &taken, 1);
    }
    fp_cursor_close(&cursor);
    if (byte < 0)
        return byte;
    return crc == pager.image.crc ? FP_PAGER_OK : FP_PAGER_NO_IMAGE;
}
#endif

#endif
