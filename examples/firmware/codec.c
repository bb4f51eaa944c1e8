#include "firmware.h"

#include <string.h>

uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

void put16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

void put32(uint8_t *p, uint32_t value)
{
    put16(p, (uint16_t)(value >> 16));
    put16(p + 2, (uint16_t)value);
}

uint16_t crc16_ccitt(uint16_t crc, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        crc = (uint16_t)(crc ^ data[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

uint32_t crc32_ieee(const uint8_t *data, size_t length)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

uint32_t random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static bool tlv_tag(const uint8_t **p, const uint8_t *end, uint32_t *tag)
{
    if (*p == end)
        return false;
    *tag = *(*p)++;
    if ((*tag & 0x1f) != 0x1f)
        return true;
    do {
        if (*p == end || *tag > 0xffff)
            return false;
        *tag = *tag << 8 | *(*p)++;
    } while (*tag & 0x80);
    return true;
}

static bool tlv_length(const uint8_t **p, const uint8_t *end, size_t *length)
{
    if (*p == end)
        return false;
    *length = *(*p)++;
    if (*length < 0x80)
        return true;
    unsigned bytes = *length & 0x7f;
    if (bytes == 0 || bytes > 2)
        return false;
    *length = 0;
    while (bytes-- > 0) {
        if (*p == end)
            return false;
        *length = *length << 8 | *(*p)++;
    }
    return true;
}

bool tlv_next(const uint8_t **p, const uint8_t *end, struct tlv *out)
{
    if (!tlv_tag(p, end, &out->tag) || !tlv_length(p, end, &out->length) ||
        out->length > (size_t)(end - *p))
        return false;
    out->value = *p;
    *p += out->length;
    return true;
}

static bool tlv_constructed(uint32_t tag)
{
    while (tag > 0xff)
        tag >>= 8;
    return tag & 0x20;
}

bool tlv_find(const uint8_t *data, size_t length, uint32_t tag, struct tlv *out)
{
    const uint8_t *end = data + length;
    struct tlv object;
    while (tlv_next(&data, end, &object)) {
        if (object.tag == tag) {
            *out = object;
            return true;
        }
        if (tlv_constructed(object.tag) && tlv_find(object.value, object.length, tag, out))
            return true;
    }
    return false;
}

uint8_t *tlv_put(uint8_t *p, uint32_t tag, const uint8_t *value, size_t length)
{
    if (tag > 0xff)
        *p++ = (uint8_t)(tag >> 8);
    *p++ = (uint8_t)tag;
    if (length >= 0x80)
        *p++ = 0x81;
    *p++ = (uint8_t)length;
    memmove(p, value, length);
    return p + length;
}
