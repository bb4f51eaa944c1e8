// A machine whose states return the next state.
#include "case.h"

struct state { struct state (*next)(int); };
RAM struct state idle(int x);
EITHER struct state failed(int x) { struct state next = {idle}; CLOBBER(); (void)x; return next; }
RAM struct state busy(int x) { struct state next = {x > 4 ? failed : idle}; CLOBBER(); return next; }
RAM struct state idle(int x) { struct state next = {x > 2 ? busy : idle}; CLOBBER(); return next; }
ROOT root(int x)
{
    struct state state = {idle};
    for (int at = 0; at < 4; at++)
        state = state.next(x);
    return state.next == idle;
}
INPUTS(0, 3, 5)
