// Two functions that are the same; compilers may keep one and let the other jump to it.
// flash: named
// flags: -ffunction-sections
// truth: by running
#include "case.h"

volatile int port;
__attribute__((noinline)) int far_twin(int x)
{
    port = x * 3;
    port = port ^ 55;
    port = port + x * 7;
    return port - 1;
}
__attribute__((noinline)) int ram_twin(int x)
{
    port = x * 3;
    port = port ^ 55;
    port = port + x * 7;
    return port - 1;
}
ROOT root(int x) { return ram_twin(x) + 1; }
INPUTS(0, 5)
