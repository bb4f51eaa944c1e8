// A local array of characters with initial values.
// flash: rodata strings
// truth: by running
#include "case.h"

ROOT root(int x)
{
    char text[] = "an array of forty characters, or nearly so";
    CLOBBER();
    OPAQUE(&text[0]);
    return text[x & 31];
}
INPUTS(0, 15)
