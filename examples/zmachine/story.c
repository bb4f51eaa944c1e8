/* Replaces memory.c of jzip, and the functions of its fileio.c that read the story file. */
#include "ztypes.h"

/* Stops jzip if a byte could not be read. */
static zbyte_t checked(int byte)
{
    if (byte < 0)
        fatal("the story cannot be read");
    return (zbyte_t)byte;
}

/* Code is executed in place, with one read for each byte. */
zbyte_t read_code_byte(void)
{
    return checked(medium_code(pc++));
}

zword_t read_code_word(void)
{
    const unsigned high = read_code_byte();
    return (zword_t)(high << 8 | read_code_byte());
}

zbyte_t story_byte(unsigned long address)
{
    return address < data_size ? datap[address] : checked(medium_data(address));
}

zword_t story_word(unsigned long address)
{
    const unsigned high = story_byte(address);
    return (zword_t)(high << 8 | story_byte(address + 1));
}

zbyte_t read_data_byte(unsigned long *addr)
{
    return story_byte((*addr)++);
}

zword_t read_data_word(unsigned long *addr)
{
    const zword_t word = story_word(*addr);
    *addr += 2;
    return word;
}

void story_set_byte(unsigned long address, unsigned value)
{
    if (address >= data_size)
        fatal("the story writes to its read-only part");
    datap[address] = (zbyte_t)value;
}

void story_set_word(unsigned long address, unsigned value)
{
    story_set_byte(address, value >> 8);
    story_set_byte(address + 1, value & 0xff);
}

/* Allocates RAM for the dynamic memory of the story. The unchanged jzip also keeps the tables between
 * dynamic memory and code in RAM. */
void load_cache(void)
{
    const unsigned long pages = h_restart_size / PAGE_SIZE + 1;
    line = malloc((size_t)screen_cols + 1);
    status_line = malloc((size_t)screen_cols + 1);
    datap = malloc(pages * PAGE_SIZE);
    if (!line || !status_line || !datap)
        fatal("no memory for the story");
    /* z_restart() then reads the dynamic memory. No memory is reserved for an undo. */
    data_size = h_restart_size;
}

void unload_cache(void)
{
    z_new_line();
    free(line);
    free(status_line);
    free(datap);
}

void open_story(const char *name)
{
    if (medium_open(name) < 0)
        fatal("the story cannot be opened");
}

void close_story(void)
{
    medium_close();
}

unsigned int get_story_size(void)
{
    return (unsigned)((medium_bytes() + (unsigned)story_scaler - 1) / (unsigned)story_scaler);
}

void read_page(int page, void *buffer)
{
    const unsigned long at = (unsigned long)page * PAGE_SIZE, end = medium_bytes();
    const unsigned long size = at + PAGE_SIZE <= end ? PAGE_SIZE : at < end ? end - at : 0;
    if (medium_read(at, buffer, size) < 0)
        fatal("the story cannot be read");
}

/* Compares the checksum, without the header, as jzip does. */
void z_verify(void)
{
    const unsigned long end = (unsigned long)h_file_size * (unsigned)story_scaler;
    zword_t sum = 0;
    for (unsigned long at = 64; at < end; at++)
        sum = (zword_t)(sum + checked(medium_data(at)));
    conditional_jump(sum == h_checksum);
}
