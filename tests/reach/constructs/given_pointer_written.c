// A write through a pointer that the root is given.
// variants: free
#include "case.h"

int near_table[4] = {1, 2, 3, 4};
__attribute__((section(".ram.text"), noinline)) int root(volatile int *table, int x)
{
    table[x & 3] = x;
    return x + 1;
}
RAM void run(int x) { case_result = root(near_table, x); }
INPUTS_OF_RUN(0, 3, 4)
