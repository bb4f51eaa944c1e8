#include "font.h"

/* Offsets in the tables. A table begins with its size and a name of 4 letters. */
#define TABLE_HEAD 8u
#define RANGE_BYTES 16u
/* Kinds of ranges of characters: one glyph after another. */
#define RANGE_WHOLE 2
/* The error of a font that ends within a glyph. */
#define FONT_TOO_SHORT (-100)
/* The error of a font whose fields have more bits than this program takes. */
#define FONT_UNKNOWN (-101)
#define MOST_FIELD_BITS 16
#define MOST_PIXEL_BITS 8

/* A reader of bits, the most significant first, a few bytes at a time. */
struct bits {
    uint32_t next, end; /* the offsets of the byte behind those held, and behind the font */
    uint8_t held[16];
    uint8_t at, count; /* in bits */
};

static uint16_t word(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t long_word(const uint8_t *bytes)
{
    return word(bytes) | (uint32_t)word(bytes + 2) << 16;
}

int font_open(struct font *font)
{
    uint8_t head[48], size[4];
    int error = font_read(0, head, sizeof(head));
    if (error)
        return error;
    font->ascent = (int16_t)word(head + 16);
    font->line = (int16_t)(font->ascent - (int16_t)word(head + 18) + (int16_t)word(head + 24));
    font->has_long_offsets = head[34];
    font->advance_fraction_bits = head[36] ? 4 : 0;
    font->pixel_bits = head[37];
    font->place_bits = head[38];
    font->size_bits = head[39];
    font->advance_bits = head[40];
    if (font->pixel_bits < 1 || font->pixel_bits > MOST_PIXEL_BITS ||
        font->place_bits > MOST_FIELD_BITS || font->size_bits > MOST_FIELD_BITS ||
        font->advance_bits > MOST_FIELD_BITS)
        return FONT_UNKNOWN;
    font->characters = long_word(head);
    error = font_read(font->characters, size, sizeof(size));
    if (error)
        return error;
    font->offsets = font->characters + long_word(size);
    error = font_read(font->characters + TABLE_HEAD, size, sizeof(size));
    if (error)
        return error;
    font->ranges = word(size);
    error = font_read(font->offsets, size, sizeof(size));
    if (error)
        return error;
    font->glyphs = font->offsets + long_word(size);
    error = font_read(font->glyphs, size, sizeof(size));
    font->end = font->glyphs + long_word(size);
    return error;
}

/* Takes up to 16 bits. */
static int take(struct bits *bits, unsigned count, uint32_t *value)
{
    for (*value = 0; count > 0; count--) {
        if (bits->at == bits->count) {
            const uint32_t left = bits->next < bits->end ? bits->end - bits->next : 0;
            const uint32_t size = left < sizeof(bits->held) ? left : sizeof(bits->held);
            const int error = size ? font_read(bits->next, bits->held, size) : FONT_TOO_SHORT;
            if (error)
                return error;
            bits->next += size;
            bits->at = 0;
            bits->count = (uint8_t)(8 * size);
        }
        *value = *value << 1 | (bits->held[bits->at / 8] >> (7 - bits->at % 8) & 1u);
        bits->at++;
    }
    return 0;
}

static int take_signed(struct bits *bits, unsigned count, int *value)
{
    uint32_t taken;
    const int error = take(bits, count, &taken);
    *value = (int)taken - (count && taken >> (count - 1) ? 1 << count : 0);
    return error;
}

/* Finds the glyph of a character; 0 if there is none. */
static int find_glyph(const struct font *font, uint32_t character, uint32_t *glyph)
{
    uint8_t range[RANGE_BYTES];
    *glyph = 0;
    for (uint32_t i = 0; i < font->ranges; i++) {
        const int error = font_read(font->characters + TABLE_HEAD + 4 + i * RANGE_BYTES, range,
                                    sizeof(range));
        const uint32_t at = character - long_word(range + 4);
        if (error)
            return error;
        if (range[14] == RANGE_WHOLE && at < word(range + 8)) {
            *glyph = word(range + 10) + at;
            return 0;
        }
    }
    return 0;
}

static void shade(struct picture *picture, int x, int y, uint32_t level)
{
    if (x >= 0 && x < picture->width && y >= 0 && y < picture->height)
        picture->pixels[y * picture->width + x] = (uint8_t)level;
}

/* Draws a glyph and moves x on. */
static int draw_glyph(const struct font *font, struct picture *picture, int *x, int y, uint32_t glyph)
{
    const unsigned size = font->has_long_offsets ? 4 : 2;
    struct bits bits = {0, font->end, {0}, 0, 0};
    uint8_t offset[4] = {0};
    uint32_t advance, wide, high, level;
    int left, bottom;
    int error = font_read(font->offsets + TABLE_HEAD + 4 + glyph * size, offset, size);
    bits.next = font->glyphs + (size == 4 ? long_word(offset) : word(offset));
    if (!error)
        error = take(&bits, font->advance_bits, &advance);
    if (!error)
        error = take_signed(&bits, font->place_bits, &left);
    if (!error)
        error = take_signed(&bits, font->place_bits, &bottom);
    if (!error)
        error = take(&bits, font->size_bits, &wide);
    if (!error)
        error = take(&bits, font->size_bits, &high);
    for (uint32_t i = 0; !error && i < wide * high; i++) {
        error = take(&bits, font->pixel_bits, &level);
        if (!error && level)
            shade(picture, *x + left + (int)(i % wide), y - bottom - (int)high + (int)(i / wide),
                  level * 255 / ((1u << font->pixel_bits) - 1));
    }
    if (!error)
        *x += (int)(advance >> font->advance_fraction_bits);
    return error;
}

/* Returns the next character of UTF-8 text, and moves on; 0 at its end. */
static uint32_t next_character(const char **text)
{
    const uint8_t first = (uint8_t)*(*text)++;
    uint32_t character = first;
    unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (!first) {
        (*text)--;
        return 0;
    }
    if (more)
        character = first & (0x3fu >> more);
    for (; more && ((uint8_t)**text & 0xc0) == 0x80; more--)
        character = character << 6 | ((uint8_t)*(*text)++ & 0x3fu);
    return character;
}

int font_draw(const struct font *font, struct picture *picture, int x, int y, const char *text)
{
    uint32_t character;
    while ((character = next_character(&text)) != 0) {
        uint32_t glyph;
        int error = find_glyph(font, character, &glyph);
        if (!error && glyph)
            error = draw_glyph(font, picture, &x, y, glyph);
        if (error)
            return error;
    }
    return 0;
}
