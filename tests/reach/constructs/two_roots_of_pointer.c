// Two functions that share a static pointer; the root only calls the one which reads it.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
static int (*volatile callback)(int);
RAM void install(int which) { if (which) callback = helper; }
RAM int fire(int x) { return callback ? callback(x) : -1; }
ROOT root(int x) { return fire(x); }
RAM void run(int x)
{
    install(x == 4);
    case_result = root(x);
}
INPUTS_OF_RUN(0, 4)
