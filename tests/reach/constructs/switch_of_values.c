// A switch that gives constants: a table of values beside the constants.
// flash: rodata
// truth: by running
#include "case.h"

ROOT root(int x)
{
    switch (x) {
    case 0: return 913;
    case 1: return 77;
    case 2: return 40001;
    case 3: return -8;
    case 4: return 5555;
    case 5: return 1;
    case 6: return 123456;
    case 7: return 24;
    }
    return 0;
}
INPUTS(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8)
