// An address that the link script states as a number.
#include "case.h"

#ifdef TOUCH
#define STATED flash_word
#else
#define STATED ram_word
#endif
ROOT root(int x) { return *(const volatile int *)STATED + x; }
INPUTS(0, 1)
