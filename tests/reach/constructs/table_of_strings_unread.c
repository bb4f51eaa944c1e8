// A table of strings, of which only the pointers are compared. The strings may lie anywhere.
// variants: free
// flash: strings
#include "case.h"

const char *names[] = {"zero", "one", "two", "three"};
ROOT root(int x) { return names[x & 3] == names[(x + 1) & 3]; }
INPUTS(0, 1, 2, 3)
