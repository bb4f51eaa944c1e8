// A function's address in an array of structures on the stack, written at an index.
#include "case.h"

struct event { int (*handler)(int); int more[6]; };
EITHER int other(int x) { CLOBBER(); return x * 3 + 1; }
RAM int usual(int x) { CLOBBER(); return x; }
ROOT root(int x)
{
    struct event events[3];
    for (int i = 0; i < 3; i++)
        events[i].handler = usual;
    events[OPAQUE(x) % 3].handler = other;
    CLOBBER();
    return events[1].handler(x);
}
INPUTS(0, 1)
