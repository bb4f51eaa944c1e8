// A part of a function that is not expected: gcc moves it to a section of its own.
// flash: unlikely
// flags: -ffunction-sections
// truth: by running
#include "case.h"

volatile int port;
RAM __attribute__((cold)) void complain(int x) { port = x; CLOBBER(); }
__attribute__((noinline)) int ram_work(int x)
{
    if (__builtin_expect(x == 1234, 0)) {
        complain(x);
        port = x * 3;
        complain(x + 1);
        port = port + 9;
        return -port;
    }
    port = x;
    return x + 1;
}
ROOT root(int x) { return ram_work(x) + 1; }
INPUTS(0, 1234)
