/* The registers by which a mote on an AVR speaks to its host: three that nothing else uses there. A
 * byte of the link, or one of bytecode that was taken; what gathers; and what that is for. */
#ifndef BYTECODE_AVR_LINK_H
#define BYTECODE_AVR_LINK_H

#include <avr/io.h>

#ifdef __AVR_ATmega128__
#define LINK_BYTE OCDR
#define LINK_GATHER XDIV
#define LINK_ACT SFIOR
#else
#define LINK_BYTE GPIOR0
#define LINK_GATHER GPIOR1
#define LINK_ACT GPIOR2
#endif

#endif
