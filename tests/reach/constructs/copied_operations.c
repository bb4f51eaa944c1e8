// Operations that are copied to the stack before they are called.
#include "case.h"

struct operations { int (*open)(int); int (*read)(int); int (*close)(int); int number; };
EITHER int far_read(int x) { CLOBBER(); return x * 3 + 1; }
RAM int near_open(int x) { CLOBBER(); return x; }
RAM int near_close(int x) { CLOBBER(); return -x; }
const struct operations operations = {near_open, far_read, near_close, 3};
ROOT root(int x)
{
    struct operations copy = operations;
    OPAQUE(&copy);
    CLOBBER();
    return copy.open(x) + copy.read(x) + copy.close(x);
}
INPUTS(0, 2)
