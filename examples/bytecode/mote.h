/* The mote: the call that starts its program, and the link to its simulated hardware. */
#ifndef BYTECODE_MOTE_H
#define BYTECODE_MOTE_H

/* The mote's address in the network, as in the recorded simulation. */
#define MOTE_ADDRESS 7

#include <stdint.h>

/* Runs sensors.Mote until its power is cut. The pager must have been started. */
void mote_run(uint8_t address);

/* The link to the world, which platform/Remote.java simulates. The mote's requests to its hardware
 * go out on it, and the answers come back. */
void link_put(uint8_t byte);
uint8_t link_get(void);

#endif
