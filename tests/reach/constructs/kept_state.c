// A state that is kept in a static variable from one call to the next.
#include "case.h"

EITHER void third(void);
RAM void first(void);
static void (*volatile state)(void) = first;
RAM void second(void) { state = third; }
RAM void first(void) { state = second; }
EITHER void third(void) { state = first; }
ROOT root(int x)
{
    state();
    return x;
}
INPUTS(0, 0, 0)
