#include "firmware.h"

#include <string.h>

#define NOTES_BYTES 256
#define INFO_BYTES 64
#define CONTACT_BYTES 24
#define CONTACTS 10
#define LOG_BYTES 16
#define LOG_RECORDS 12
#define JOURNAL_BYTES 64

static uint8_t info[INFO_BYTES];
static uint8_t notes[NOTES_BYTES];
static uint8_t contacts[CONTACTS * CONTACT_BYTES];
static uint8_t log_records[LOG_RECORDS * LOG_BYTES];

static struct file files[] = {
    { FILE_INFO, FILE_TRANSPARENT, ACCESS_FREE, ACCESS_KEY, 0, 0, 0, INFO_BYTES, info },
    { FILE_NOTES, FILE_TRANSPARENT, ACCESS_PIN, ACCESS_PIN, 0, 0, 0, NOTES_BYTES, notes },
    { FILE_CONTACTS, FILE_LINEAR, ACCESS_PIN, ACCESS_PIN, CONTACT_BYTES, CONTACTS, 0,
      sizeof contacts, contacts },
    { FILE_LOG, FILE_CYCLIC, ACCESS_FREE, ACCESS_NEVER, LOG_BYTES, LOG_RECORDS, 0,
      sizeof log_records, log_records },
};
#define FILES (sizeof files / sizeof files[0])

static struct {
    bool valid;
    uint8_t *where;
    size_t length;
    uint8_t old[JOURNAL_BYTES];
} journal;

void files_format(void)
{
    static const uint8_t name[] = "CARD 1.0";
    uint8_t serial[4];
    for (size_t i = 0; i < FILES; i++) {
        memset(files[i].data, 0xff, files[i].bytes);
        files[i].newest = 0;
    }
    put32(serial, 0x20100501);
    tlv_put(tlv_put(info, 0x5f20, name, sizeof name - 1), 0x5a, serial, sizeof serial);
    journal.valid = false;
}

struct file *file_find(uint16_t id)
{
    for (size_t i = 0; i < FILES; i++)
        if (files[i].id == id)
            return &files[i];
    return NULL;
}

static bool inside(const struct file *file, size_t offset, size_t length)
{
    return offset <= file->bytes && length <= file->bytes - offset;
}

bool file_read(const struct file *file, size_t offset, uint8_t *out, size_t length)
{
    if (!inside(file, offset, length))
        return false;
    memcpy(out, file->data + offset, length);
    return true;
}

bool file_update(struct file *file, size_t offset, const uint8_t *in, size_t length)
{
    if (!inside(file, offset, length))
        return false;
    while (length > 0) {
        size_t piece = length < JOURNAL_BYTES ? length : JOURNAL_BYTES;
        journal_begin(file, offset, piece);
        memcpy(file->data + offset, in, piece);
        journal_commit();
        offset += piece;
        in += piece;
        length -= piece;
    }
    return true;
}

uint8_t *file_record(const struct file *file, unsigned number)
{
    if (number == 0 || number > file->records)
        return NULL;
    unsigned index = number - 1;
    if (file->kind == FILE_CYCLIC)
        index = (file->newest + file->records - index) % file->records;
    return file->data + index * file->record_bytes;
}

static unsigned first_empty(const struct file *file)
{
    for (unsigned number = 1; number <= file->records; number++)
        if (*file_record(file, number) == 0xff)
            return number;
    return 0;
}

bool file_append(struct file *file, const uint8_t *in, size_t length)
{
    uint8_t *record;
    if (length != file->record_bytes)
        return false;
    if (file->kind == FILE_CYCLIC) {
        file->newest = (uint8_t)((file->newest + 1) % file->records);
        record = file_record(file, 1);
    } else {
        record = file_record(file, first_empty(file));
    }
    return record != NULL && file_update(file, (size_t)(record - file->data), in, length);
}

void journal_begin(struct file *file, size_t offset, size_t length)
{
    journal.where = file->data + offset;
    journal.length = length;
    memcpy(journal.old, journal.where, length);
    journal.valid = true;
}

void journal_commit(void)
{
    journal.valid = false;
}

bool journal_recover(void)
{
    if (!journal.valid)
        return false;
    memcpy(journal.where, journal.old, journal.length);
    journal_commit();
    return true;
}

uint32_t files_checksum(void)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < FILES; i++)
        sum = sum * 31 + crc32_ieee(files[i].data, files[i].bytes);
    return sum;
}
