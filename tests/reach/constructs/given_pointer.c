// A read through a pointer that the root is given.
// pointers: given
#include "case.h"

EITHER_CONST const int far_table[4] = {1, 2, 3, 4};
int near_table[4] = {1, 2, 3, 4};
__attribute__((section(".ram.text"), noinline)) int root(const volatile int *table, int x) { return table[x & 3] + 1; }
RAM void run(int x) { case_result = root(x < 4 ? near_table : OPAQUE(&far_table[0]), x); }
INPUTS_OF_RUN(0, 3, 4)
