/* Macros for tables and texts in the processor's program memory, which an AVR reads with separate
 * instructions. On other processors it is ordinary memory. */
#ifndef BYTECODE_PROGRAM_MEMORY_H
#define BYTECODE_PROGRAM_MEMORY_H

#ifdef __AVR__
#include <avr/pgmspace.h>
#define PROGRAM_MEMORY PROGMEM
#define PROGRAM_BYTE(at) pgm_read_byte(&(at))
#define PROGRAM_WORD(at) pgm_read_word(&(at))
#define PROGRAM_INT(at) ((int32_t)pgm_read_dword(&(at)))
#define PROGRAM_TEXT(text) PSTR(text)
#else
#define PROGRAM_MEMORY
#define PROGRAM_BYTE(at) (at)
#define PROGRAM_WORD(at) (at)
#define PROGRAM_INT(at) (at)
#define PROGRAM_TEXT(text) (text)
#endif

#endif
