/*
 * A menu of a device, in a font that does not fit its RAM
 *
 * The program draws three screens and writes the last as screen.pgm. Compiled with RECORD it runs on a PC, has
 * the font in a file, and writes each piece that it reads to reads.csv. Otherwise it runs on a
 * microcontroller, and the font lies in a serial NOR behind the pager.
 */
#include "font.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 240
#define HEIGHT 150

static const char *const screens[][5] = {
    {"Sensors", "temperature  21.4 \xc2\xb0""C", "pressure  1013 hPa", "humidity  48 %", "battery  3.71 V"},
    {"R\xc3\xa9glages", "langue : fran\xc3\xa7""ais", "veille apr\xc3\xa8s 30 s", "\xc3\xa9""cran : clair", "retour"},
    {"Signals", "\xce\xb1 = 0.42   \xce\xb2 = 1.7", "\xce\xbb = 633 nm", "\xcf\x83 = 12 \xc2\xb5V", "\xcf\x89 = 314 /s"},
};

static uint8_t pixels[WIDTH * HEIGHT];

#ifdef RECORD
static FILE *font_file, *reads;

int font_read(uint32_t from, void *to, uint32_t size)
{
    fprintf(reads, "%lu,%lu\n", (unsigned long)from, (unsigned long)size);
    return fseek(font_file, (long)from, SEEK_SET) || fread(to, 1, size, font_file) != size;
}

static int start(void)
{
    font_file = fopen("font.bin", "rb");
    reads = fopen("reads.csv", "w");
    return !font_file || !reads || fprintf(reads, "offset,length\n") < 0;
}

static int end(void)
{
    return fclose(reads);
}
#else
#include "flashpager_pager.h"
#include "spi_nor/spi_nor.h"

int font_read(uint32_t from, void *to, uint32_t size)
{
    return fp_pager_read(from, to, size);
}

static int start(void)
{
    return fp_spi_nor_start() || fp_pager_start();
}

static int end(void)
{
    const struct fp_pager_stat *stat = fp_pager_stat();
    FILE *counts = fopen("counts.txt", "w");
    if (!counts)
        return 1;
    fprintf(counts, "references %lu\nmisses %lu\nbytes_fetched %lu\n",
            (unsigned long)stat->references, (unsigned long)stat->misses,
            (unsigned long)stat->bytes_fetched);
    return fclose(counts);
}
#endif

static int write_screen(void)
{
    FILE *file = fopen("screen.pgm", "wb");
    if (!file)
        return 1;
    fprintf(file, "P5 %d %d 255\n", WIDTH, HEIGHT);
    return fwrite(pixels, 1, sizeof(pixels), file) != sizeof(pixels) || fclose(file);
}

int main(void)
{
    struct picture picture = {pixels, WIDTH, HEIGHT};
    struct font font;
    int error = start() || font_open(&font);
    for (unsigned screen = 0; !error && screen < sizeof(screens) / sizeof(*screens); screen++) {
        memset(pixels, 0, sizeof(pixels));
        for (int row = 0; !error && row < 5; row++)
            error = font_draw(&font, &picture, 4, font.ascent + row * font.line, screens[screen][row]);
    }
    if (!error)
        error = write_screen() || end();
    if (error)
        fprintf(stderr, "the font cannot be read\n");
    return error != 0;
}
