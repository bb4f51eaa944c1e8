/*
 * A call at the memory accesses of a file, for tests that interrupt it anywhere
 *
 * The file is compiled with -fsanitize=thread, whose calls before each access accesses.c defines in place of
 * the library's, or with -fsanitize-coverage=trace-pc, which calls at each basic block.
 */
#ifndef FLASHPAGER_TEST_ACCESSES_H
#define FLASHPAGER_TEST_ACCESSES_H

#include <stdint.h>

extern volatile uint32_t accesses_left;     /* until accesses_end() is called */
extern void (*accesses_end)(void); /* it sets accesses_left anew */

#endif
