/*
 * A story in memory. Where FLASHPAGER_STREAM names a file, it is told there which bytes are taken,
 * in their order, as a stream of docs/formats.md ("Recorder stream"): interpreted or read, all are
 * bytes of flash. Which routine lies where is read from STORY.names, lines of address, bytes, name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

#define META 1
#define END 4
#define METHOD 5
#define PIECE 7

static unsigned char *story;
static unsigned long story_bytes;
static FILE *stream;
/* What is taken and not yet told: bytes one behind the other. */
static uint32_t first, behind;

static unsigned char *put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

static void tell(uint32_t kind, const void *payload, size_t bytes)
{
    static const unsigned char zeros[4];
    unsigned char head[4];
    put(head, UINT32_C(1) << 31 | kind << 24 | (uint32_t)bytes, 4);
    fwrite(head, 1, 4, stream);
    fwrite(payload, 1, bytes, stream);
    fwrite(zeros, 1, -bytes & 3, stream);
}

static void tell_text(const char *text)
{
    tell(META, text, strlen(text));
}

static void tell_taken(void)
{
    unsigned char piece[16];
    if (first != behind) {
        put(put(put(piece, first, 8), behind - first, 4), 0, 4);
        tell(PIECE, piece, sizeof(piece));
    }
}

static void take(unsigned long at, unsigned long bytes)
{
    if (!stream || !bytes)
        return;
    if (at != behind || first == behind) {
        tell_taken();
        first = (uint32_t)at;
    }
    behind = (uint32_t)(at + bytes);
}

static void tell_names(const char *name)
{
    char path[1024], text[256];
    unsigned long at, bytes;
    snprintf(path, sizeof(path), "%s.names", name);
    FILE *names = fopen(path, "r");
    if (!names)
        return;
    while (fscanf(names, "%lu %lu %255s", &at, &bytes, text) == 3) {
        unsigned char method[12 + sizeof(text)];
        unsigned char *to = put(put(method, at, 8), bytes, 4);
        memcpy(to, text, strlen(text));
        tell(METHOD, method, 12 + strlen(text));
    }
    fclose(names);
}

int medium_open(const char *name)
{
    const char *to = getenv("FLASHPAGER_STREAM");
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
    if (!to)
        return 0;
    stream = fopen(to, "wb");
    if (!stream)
        return -1;
    fputs("FPSTRM01", stream);
    char text[1024];
    tell_text("recorder=jzip");
    tell_text("target=z-machine");
    snprintf(text, sizeof(text), "given=%lu story", story_bytes);
    tell_text(text);
    snprintf(text, sizeof(text), "program=%s", name);
    tell_text(text);
    tell_names(name);
    return 0;
}

unsigned long medium_bytes(void)
{
    return story_bytes;
}

int medium_code(unsigned long at)
{
    return medium_data(at);
}

int medium_data(unsigned long at)
{
    if (at >= story_bytes)
        return -1;
    take(at, 1);
    return story[at];
}

int medium_read(unsigned long at, void *to, unsigned long size)
{
    if (at > story_bytes || size > story_bytes - at)
        return -1;
    take(at, size);
    memcpy(to, story + at, size);
    return 0;
}

void medium_close(void)
{
    if (!stream)
        return;
    tell_taken();
    tell(END, "", 0);
    if (fclose(stream)) {
        fputs("the stream cannot be written\n", stderr);
        exit(EXIT_FAILURE);
    }
    stream = NULL;
}
