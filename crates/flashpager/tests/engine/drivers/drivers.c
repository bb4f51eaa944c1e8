/* Loops of flash drivers, and some that are none. The data port of each is one
   address; build with -DDATA_PORT=... where 0x40000000 is no address. */
#ifndef DATA_PORT
#define DATA_PORT 0x40000000
#endif

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINTPTR_TYPE__ address;

#define PORT(type, offset) (*(volatile type *)(address)(DATA_PORT + (offset)))
#define READY PORT(u8, 4)
#define STROBE PORT(u8, 8)

void read_bytes(u8 *p, u8 *p0)
{
    for (; p < p0; p++)
        *p = PORT(u8, 0);
}

void read_through_pointer(u8 *p, u8 *p0, volatile u8 *port)
{
    while (p < p0)
        *p++ = *port;
}

void read_half_words(u16 *p, u16 *p0)
{
    for (; p < p0; p++)
        *p = PORT(u16, 0);
}

void read_words(u32 *p, u32 *p0)
{
    do
        *p++ = PORT(u32, 0);
    while (p < p0);
}

void write_bytes(const u8 *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        PORT(u8, 0) = p[i];
}

void read_half_words_by_index(u16 *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = PORT(u16, 0);
}

void read_words_by_index(u32 *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = PORT(u32, 0);
}

void write_words_by_index(const u32 *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        PORT(u32, 0) = p[i];
}

void read_unrolled(u8 *p, u8 *p0)
{
    for (; p < p0; p += 4) {
        p[0] = PORT(u8, 0);
        p[1] = PORT(u8, 0);
        p[2] = PORT(u8, 0);
        p[3] = PORT(u8, 0);
    }
}

/* A data register of 32 bits of which a part is kept or filled. */
void read_words_keep_bytes(u8 *p, unsigned n, volatile u32 *registers)
{
    while (n--) {
        while (!(registers[2] & 1))
            ;
        *p++ = (u8)registers[3];
    }
}

void read_words_keep_half_words(u16 *p, u16 *p0)
{
    for (; p < p0; p++)
        *p = (u16)PORT(u32, 0);
}

void read_words_keep_three_bytes(u8 *p, u8 *p0)
{
    for (; p < p0; p += 3) {
        u32 word = PORT(u32, 0);
        p[0] = (u8)word;
        p[1] = (u8)(word >> 8);
        p[2] = (u8)(word >> 16);
    }
}

void read_words_by_bytes(u8 *p, u8 *p0)
{
    while (p < p0) {
        u32 word = PORT(u32, 0);
        for (u8 i = 0; i < 4; i++) {
            *p++ = (u8)word;
            word >>= 8;
        }
    }
}

void write_words_of_bytes(const u8 *p, const u8 *p0)
{
    for (; p < p0; p++)
        PORT(u32, 0) = *p;
}

void read_pages(u8 *to, unsigned pages, unsigned bytes)
{
    for (unsigned page = 0; page < pages; page++) {
        PORT(u8, 12) = (u8)page;
        for (unsigned i = 0; i < bytes; i++)
            *to++ = PORT(u8, 0);
    }
}

void read_strobed(u8 *p, u8 *p0)
{
    for (; p < p0; p++) {
        STROBE = 0;
        *p = PORT(u8, 0);
        STROBE = 1;
    }
}

void write_strobed(const u8 *p, const u8 *p0)
{
    for (; p < p0; p++) {
        PORT(u8, 0) = *p;
        STROBE = 0;
        STROBE = 1;
    }
}

void read_when_ready(u8 *p, u8 *p0)
{
    for (; p < p0; p++) {
        while (!(READY & 1))
            ;
        *p = PORT(u8, 0);
    }
}

struct chip {
    volatile u8 *port;
    u8 *buffer;
};

void read_structure(struct chip *chip, u8 *p0)
{
    while (chip->buffer < p0)
        *chip->buffer++ = *chip->port;
}

void wait_ready(void)
{
    while (!(READY & 1))
        ;
}

unsigned sum(const u8 *p, unsigned n)
{
    unsigned all = 0;
    for (unsigned i = 0; i < n; i++)
        all += p[i];
    return all;
}

void copy_memory(u8 *to, const u8 *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = from[i];
}

void select_chip(u8 chip)
{
    PORT(u8, 16) = chip;
}

u8 read_byte(void);

void read_by_calls(u8 *p, u8 *p0)
{
    for (; p < p0; p++)
        *p = read_byte();
}
