/* The mote: what starts the program, and its hardware, which is at the other end of a link. */
#ifndef BYTECODE_MOTE_H
#define BYTECODE_MOTE_H

/* Its address in the network, as in the simulation that was recorded. */
#define MOTE_ADDRESS 7

#include <stdint.h>

/* Run sensors.Mote until its power is cut. The pager is started before. */
void mote_run(uint8_t address);

/* The link to the world, which platform/Remote.java simulates: what the mote asks of its hardware
 * goes there, and the answers come back. */
void link_put(uint8_t byte);
uint8_t link_get(void);

#endif
