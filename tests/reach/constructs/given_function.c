// A call of a function that the root is given.
#include "case.h"

EITHER int far_function(int x) { CLOBBER(); return x * 3 + 1; }
RAM int near_function(int x) { CLOBBER(); return x; }
__attribute__((section(".ram.text"), noinline)) int root(int (*call)(int), int x) { return call(x) + 1; }
RAM void run(int x) { case_result = root(OPAQUE(x < 4 ? near_function : far_function), x); }
INPUTS_OF_RUN(0, 3, 4)
