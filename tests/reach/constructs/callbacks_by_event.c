// An array of events and their functions, searched.
#include "case.h"

struct binding { int event; int (*call)(int); };
EITHER int third(int x) { CLOBBER(); return x * 3; }
RAM int second(int x) { CLOBBER(); return x * 2; }
RAM int first(int x) { CLOBBER(); return x; }
struct binding bindings[] = {{17, first}, {23, second}, {42, third}};
ROOT root(int x)
{
    for (unsigned at = 0; at < sizeof bindings / sizeof *bindings; at++)
        if (bindings[at].event == x)
            return bindings[at].call(x);
    return -1;
}
INPUTS(1, 17, 23, 42)
