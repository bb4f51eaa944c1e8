// Virtual calls by a structure of operations that may be in flash, of functions in RAM.
#include "case.h"

struct operations { int (*open)(int); int (*close)(int); };
RAM int near_open(int x) { CLOBBER(); return x; }
RAM int near_close(int x) { CLOBBER(); return -x; }
EITHER_CONST const struct operations operations = {near_open, near_close};
RAM int use(const struct operations *given, int x) { CLOBBER(); return given->open(x) + given->close(x); }
ROOT root(int x) { return use(&operations, x); }
INPUTS(0, 9)
