// Registers that a function of libgcc saves and restores: it returns through another register.
// flash: libgcc
// flags: -msave-restore
// targets: rv32 rv64
// truth: by running
#include "case.h"

RAM int other(int x) { CLOBBER(); return x; }
RAM int work(int x)
{
    int a = other(x), b = other(x + 1), c = other(x + 2), d = other(x + 3);
    return other(a) * b + other(c) * d + a + b + c + d;
}
ROOT root(int x) { return work(x) + work(x + 1); }
INPUTS(0, 5)
