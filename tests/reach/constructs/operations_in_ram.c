// Virtual calls by a structure of operations in RAM.
#include "case.h"

struct operations { int (*open)(int); int (*read)(int); int (*close)(int); };
EITHER int far_read(int x) { CLOBBER(); return x * 3 + 1; }
RAM int near_open(int x) { CLOBBER(); return x; }
RAM int near_close(int x) { CLOBBER(); return -x; }
RAM_CONST const struct operations operations = {near_open, far_read, near_close};
RAM int use(const struct operations *given, int x)
{
    CLOBBER();
    return given->open(x) + (x == 9 ? given->read(x) : 0) + given->close(x);
}
ROOT root(int x) { return use(&operations, x); }
INPUTS(0, 9)
