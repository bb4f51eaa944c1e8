/*
 * The story of jzip, and who gets its bytes
 *
 * jzip keeps what a story writes to, its dynamic memory, in RAM. All else it reads from the story
 * file through a cache of pages of its own: memory.c, and what of fileio.c reads the story. story.c
 * stands in their place, and asks one of two: told.c has the story in memory and can tell which
 * bytes are taken, paged.c has it in flash behind the pager.
 *
 * This file is included before all else in each file of jzip (-include), whose macros that reach
 * into the story are made calls of the functions here.
 */
#ifndef STORY_H
#define STORY_H

/* Of jzip's macros get_byte(), get_word(), set_byte() and set_word(). */
unsigned char story_byte(unsigned long at);
unsigned short story_word(unsigned long at);
void story_set_byte(unsigned long at, unsigned value);
void story_set_word(unsigned long at, unsigned value);

/* told.c and paged.c: a byte that is interpreted, one that is read, and many. Give a byte, or a
 * negative number where there is none. */
int medium_open(const char *name);
unsigned long medium_bytes(void);
int medium_code(unsigned long at);
int medium_data(unsigned long at);
int medium_read(unsigned long at, void *to, unsigned long size);
void medium_close(void);

#endif
