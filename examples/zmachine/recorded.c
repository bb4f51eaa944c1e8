/*
 * A story in memory, with a recorder of the bytes that are read
 *
 * If FLASHPAGER_STREAM names a file, all bytes that are executed or read are written to it in their
 * order, as the recorder stream of recorders/README.md. The addresses of routines are read from
 * STORY.names, where each line has address, length in bytes, and name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

/* Kinds of records of the stream. */
#define META 1
#define END 4
#define METHOD 5
#define PIECE 7

static unsigned char *story;
static unsigned long story_bytes;
static FILE *stream;
/* Addresses of the first and behind the last byte of the piece that is read, but not yet written. */
static uint32_t piece_start, piece_end;

static unsigned char *put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

static void write_record(uint32_t kind, const void *payload, size_t bytes)
{
    static const unsigned char zeros[4];
    unsigned char head[4];
    put(head, UINT32_C(1) << 31 | kind << 24 | (uint32_t)bytes, 4);
    fwrite(head, 1, 4, stream);
    fwrite(payload, 1, bytes, stream);
    fwrite(zeros, 1, -bytes & 3, stream);
}

static void write_meta(const char *text)
{
    write_record(META, text, strlen(text));
}

static void write_piece(void)
{
    unsigned char piece[16];
    if (piece_start != piece_end) {
        put(put(put(piece, piece_start, 8), piece_end - piece_start, 4), 0, 4);
        write_record(PIECE, piece, sizeof(piece));
    }
}

/* Adds bytes to the current piece, or begins another one if they do not follow it. */
static void record(unsigned long address, unsigned long bytes)
{
    if (!stream || !bytes)
        return;
    if (address != piece_end || piece_start == piece_end) {
        write_piece();
        piece_start = (uint32_t)address;
    }
    piece_end = (uint32_t)(address + bytes);
}

static void write_names(const char *name)
{
    char path[1024], text[256];
    unsigned long address, bytes;
    snprintf(path, sizeof(path), "%s.names", name);
    FILE *names = fopen(path, "r");
    if (!names)
        return;
    while (fscanf(names, "%lu %lu %255s", &address, &bytes, text) == 3) {
        unsigned char method[12 + sizeof(text)];
        unsigned char *to = put(put(method, address, 8), bytes, 4);
        memcpy(to, text, strlen(text));
        write_record(METHOD, method, 12 + strlen(text));
    }
    fclose(names);
}

int medium_open(const char *name)
{
    const char *stream_path = getenv("FLASHPAGER_STREAM");
    FILE *file = fopen(name, "rb");
    long size;
    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) <= 0)
        return -1;
    rewind(file);
    story = malloc((size_t)size);
    story_bytes = (unsigned long)size;
    if (!story || fread(story, 1, story_bytes, file) != story_bytes)
        return -1;
    fclose(file);
    if (!stream_path)
        return 0;
    stream = fopen(stream_path, "wb");
    if (!stream)
        return -1;
    fputs("FPSTRM01", stream);
    char text[1024];
    write_meta("recorder=jzip");
    write_meta("target=z-machine");
    snprintf(text, sizeof(text), "given=%lu story", story_bytes);
    write_meta(text);
    snprintf(text, sizeof(text), "program=%s", name);
    write_meta(text);
    write_names(name);
    return 0;
}

unsigned long medium_bytes(void)
{
    return story_bytes;
}

int medium_code(unsigned long address)
{
    return medium_data(address);
}

int medium_data(unsigned long address)
{
    if (address >= story_bytes)
        return -1;
    record(address, 1);
    return story[address];
}

int medium_read(unsigned long address, void *to, unsigned long size)
{
    if (address > story_bytes || size > story_bytes - address)
        return -1;
    record(address, size);
    memcpy(to, story + address, size);
    return 0;
}

void medium_close(void)
{
    if (!stream)
        return;
    write_piece();
    write_record(END, "", 0);
    if (fclose(stream)) {
        fputs("the stream cannot be written\n", stderr);
        exit(EXIT_FAILURE);
    }
    stream = NULL;
}
