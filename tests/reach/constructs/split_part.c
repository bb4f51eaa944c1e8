// A function that gcc splits: the rest is placed by another name.
// flash: parts
// flags: -ffunction-sections
// truth: by running
#include "case.h"

volatile int port;
static int ram_work(int x)
{
    if (x < 100)
        return x + 1;
    for (int at = 0; at < x; at++) {
        port = port + at * 3;
        port = port ^ 77;
        CLOBBER();
    }
    for (int at = 0; at < x; at++) {
        port = port + at * 5;
        port = port ^ 99;
        CLOBBER();
    }
    return port;
}
RAM int second(int x) { CLOBBER(); return ram_work(x + 1); }
ROOT root(int x) { return ram_work(x) + second(x) * 2; }
INPUTS(0, 120)
