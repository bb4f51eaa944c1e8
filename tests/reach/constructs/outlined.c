// Sequences that the compiler moves into a function of its own, in plain .text.
// flash: text
// flags: -mllvm -enable-machine-outliner=always
// compilers: clang
// truth: by running
#include "case.h"

volatile int port[8];
RAM int other(int x)
{
    port[0] = 77777; port[1] = 88888; port[2] = 99999; port[3] = 12345; port[4] = 54321;
    return x + 1;
}
ROOT root(int x)
{
    if (x > 3) {
        port[0] = 77777; port[1] = 88888; port[2] = 99999; port[3] = 12345; port[4] = 54321;
        return other(x);
    }
    port[7] = x;
    port[0] = 77777; port[1] = 88888; port[2] = 99999; port[3] = 12345; port[4] = 54321;
    return 7;
}
INPUTS(0, 5)
