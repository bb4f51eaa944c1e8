// A program for any address: addresses are read from a table that may be in flash.
// flash: got
// flags: -fPIC
// truth: by running
#include "case.h"

extern int shared;
int shared = 3;
ROOT root(int x)
{
    shared += x;
    return shared;
}
INPUTS(0, 5)
