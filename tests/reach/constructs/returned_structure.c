// A function that returns a structure with a function in it.
#include "case.h"

struct job { int (*call)(int); int a, b, c, d; };
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM struct job make(int x)
{
    struct job job = {helper, x, 2, 3, 4};
    CLOBBER();
    return job;
}
ROOT root(int x)
{
    struct job job = make(x);
    return job.call(job.a + job.d);
}
INPUTS(0, 3)
