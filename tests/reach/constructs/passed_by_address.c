// A function in a local structure whose address is passed.
#include "case.h"

struct job { int (*call)(int); int value; };
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int apply(const struct job *job) { CLOBBER(); return job->call(job->value) + 1; }
ROOT root(int x)
{
    struct job job = {helper, x};
    return apply(&job) * 2;
}
INPUTS(0, 1)
