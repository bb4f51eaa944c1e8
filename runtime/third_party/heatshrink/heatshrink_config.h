/* How heatshrink is built: no allocation, sizes fixed. Each can be set by -D. */
#ifndef HEATSHRINK_CONFIG_H
#define HEATSHRINK_CONFIG_H

#define HEATSHRINK_DYNAMIC_ALLOC 0

/* Bytes of compressed data that the decoder takes at once. */
#ifndef HEATSHRINK_STATIC_INPUT_BUFFER_SIZE
#define HEATSHRINK_STATIC_INPUT_BUFFER_SIZE 32
#endif

/* Matches lie within 2^this bytes: 4 to 13. The encoder takes 2^(this + 1) bytes. */
#ifndef HEATSHRINK_STATIC_WINDOW_BITS
#define HEATSHRINK_STATIC_WINDOW_BITS 8
#endif

/* Matches are up to 2^this bytes: 3 to one below the window's. */
#ifndef HEATSHRINK_STATIC_LOOKAHEAD_BITS
#define HEATSHRINK_STATIC_LOOKAHEAD_BITS 4
#endif

/* 1: an index of 2^(window + 2) bytes, and 512 bytes of stack, make compression several
 * times faster. The data is the same. */
#ifndef HEATSHRINK_USE_INDEX
#ifdef __AVR__
#define HEATSHRINK_USE_INDEX 0
#else
#define HEATSHRINK_USE_INDEX 1
#endif
#endif

#define HEATSHRINK_DEBUGGING_LOGS 0

#endif
