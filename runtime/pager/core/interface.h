/* The interface to the program: pages and cursors, or the faults of an MMU. */
#ifndef FLASHPAGER_CORE_INTERFACE_H
#define FLASHPAGER_CORE_INTERFACE_H

#if HAS_MMU
#include "interface_faults.h"
#else
#include "interface_calls.h"
#endif

#endif
