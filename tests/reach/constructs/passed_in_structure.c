// A function in a structure that is passed by value.
#include "case.h"

struct job { int (*call)(int); int value; };
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int apply(struct job job) { CLOBBER(); return job.call(job.value) + 1; }
ROOT root(int x)
{
    struct job job = {helper, x};
    return apply(job) * 2;
}
INPUTS(0, 1)
