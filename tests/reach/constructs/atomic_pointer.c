// A function pointer that is read atomically.
// targets: thumb2 aarch64 rv32 rv64
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
static int (*handler)(int) = helper;
ROOT root(int x) { return __atomic_load_n(&handler, __ATOMIC_RELAXED)(x) + 1; }
INPUTS(0, 2)
