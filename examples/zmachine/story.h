/*
 * Access of jzip to its story
 *
 * jzip keeps the dynamic memory of a story, the part that the story writes to, in RAM. It reads the
 * rest of the story file through its own cache of pages, in memory.c and fileio.c. story.c replaces
 * that cache. It reads the story from a medium, of which there are two: recorded.c holds the story in
 * memory and can report the bytes that are read, paged.c has it in flash behind the pager.
 *
 * This file is included (-include) before all others in each source of jzip. The Makefile turns jzip's
 * macros for access to the story into calls of the functions here.
 */
#ifndef STORY_H
#define STORY_H

/* Get and set a byte or a word of the story, in place of jzip's macros get_byte(), get_word(),
 * set_byte() and set_word(). */
unsigned char story_byte(unsigned long address);
unsigned short story_word(unsigned long address);
void story_set_byte(unsigned long address, unsigned value);
void story_set_word(unsigned long address, unsigned value);

/* The medium: recorded.c or paged.c. */

/* Opens the story file. Returns a negative number if that fails. */
int medium_open(const char *name);
/* Returns the size of the story in bytes. */
unsigned long medium_bytes(void);
/* Return a byte that is executed as code, or one that is read as data. Negative: it cannot be read. */
int medium_code(unsigned long address);
int medium_data(unsigned long address);
/* Copies bytes to `to`. Returns a negative number if they cannot be read. */
int medium_read(unsigned long address, void *to, unsigned long size);
void medium_close(void);

#endif
