// A table of strings in RAM whose strings may be in flash.
// flash: strings rodata
#include "case.h"

static const char *const names[] = {"zero", "one", "two", "three"};
ROOT root(int x)
{
    const volatile char *name = names[x & 3];
    return name[1];
}
INPUTS(0, 1, 2, 3)
