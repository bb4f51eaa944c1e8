// A chain of calls that leaves RAM at its last call.
#include "case.h"

EITHER int last(int x) { CLOBBER(); return x - 7; }
RAM int third(int x) { CLOBBER(); return last(x) * 2; }
RAM int second(int x) { CLOBBER(); return third(x + 1); }
RAM int first(int x) { CLOBBER(); return second(x) + x; }
ROOT root(int x) { return first(x); }
INPUTS(0, 9)
