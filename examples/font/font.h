/*
 * Text in a font of LVGL's binary format, which is read piece by piece from wherever it lies
 *
 * Fonts are those of lv_font_conv --format bin without compression. The program has font_read(), which
 * copies bytes of the font; a glyph takes a few bytes of RAM at a time.
 */
#ifndef FONT_H
#define FONT_H

#include <stdint.h>

/* A font that was opened. */
struct font {
    uint32_t characters, offsets, glyphs, end; /* the places of the tables, and behind them */
    uint16_t ranges;
    int16_t ascent, line;                 /* in pixels */
    uint8_t has_long_offsets, advance_fraction_bits;
    uint8_t pixel_bits, place_bits, size_bits, advance_bits;
};

/* A picture of bytes, 0 to 255, of which text is drawn into. */
struct picture {
    uint8_t *pixels;
    int width, height;
};

/* Copies bytes of the font. Returns 0 or an error. You write it. */
int font_read(uint32_t from, void *to, uint32_t size);

/* Reads the tables' places. Returns 0 or an error. */
int font_open(struct font *font);

/* Draws a line of text, in UTF-8, at a baseline that starts at x and y. Characters that the font lacks are
 * left out. Returns 0 or an error. */
int font_draw(const struct font *font, struct picture *picture, int x, int y, const char *text);

#endif
