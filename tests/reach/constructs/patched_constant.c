// A function's address that the file says is constant, and that the root changes.
// truth: by running
#include "case.h"

EITHER int other(int x) { CLOBBER(); return x * 3 + 1; }
RAM int usual(int x) { CLOBBER(); return x; }
RAM_CONST int (*const volatile handler)(int) = usual;
ROOT root(int x)
{
    if (x > 1)
        *(int (*volatile *)(int))(word)&handler = other;
    return handler(x);
}
INPUTS(0, 2)
