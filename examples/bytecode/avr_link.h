/*
 * Three registers through which a mote on an AVR exchanges data with the simulator. The program does
 * not use them otherwise.
 *
 * LINK_BYTE     read: the next byte from the link; written: a byte of bytecode that was executed
 * LINK_BUFFER   written: a byte for the next command
 * LINK_COMMAND  written: the command for the bytes in the buffer (avr.c)
 */
#ifndef BYTECODE_AVR_LINK_H
#define BYTECODE_AVR_LINK_H

#include <avr/io.h>

#ifdef __AVR_ATmega128__
#define LINK_BYTE OCDR
#define LINK_BUFFER XDIV
#define LINK_COMMAND SFIOR
#else
#define LINK_BYTE GPIOR0
#define LINK_BUFFER GPIOR1
#define LINK_COMMAND GPIOR2
#endif

#endif
