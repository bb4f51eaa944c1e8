// Characters of a string.
// flash: strings rodata
#include "case.h"

ROOT root(int x)
{
    const char *text = OPAQUE("flash is busy");
    return text[x] + text[0];
}
INPUTS(0, 1, 5)
