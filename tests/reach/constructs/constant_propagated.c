// A static function whose copy for a constant is placed by another name.
// flash: parts
// flags: -ffunction-sections -fipa-cp-clone
// compilers: gcc
// truth: by running
#include "case.h"

volatile int port;
static __attribute__((noinline)) int ram_work(int x, int mode)
{
    for (int at = 0; at < x; at++) {
        port = port + at * mode;
        if (mode == 3)
            port = port ^ 77;
        CLOBBER();
    }
    return port;
}
ROOT root(int x) { return ram_work(x, 3) + ram_work(x + 1, 3); }
INPUTS(0, 5)
