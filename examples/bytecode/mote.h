/* The mote: the call that starts its program, and the link to its simulated hardware. */
#ifndef BYTECODE_MOTE_H
#define BYTECODE_MOTE_H

/* The mote's address in the network, as in the recorded simulation. */
#define MOTE_ADDRESS 7

#include <stdint.h>

/* Runs sensors.Mote until its power is cut. The pager must have been started. */
void mote_run(uint8_t address);

/* Send and receive a byte over the link to the world, which platform/Remote.java simulates. The mote
 * sends requests to its hardware, and receives the answers. */
void link_put(uint8_t byte);
uint8_t link_get(void);

#endif
