// A loop over a string, until its end.
// flash: strings rodata
#include "case.h"

RAM unsigned length(const char *text)
{
    unsigned count = 0;
    while (((const volatile char *)text)[count] != '\0')
        count++;
    return count;
}
ROOT root(int x) { return (int)length("a longer line of text") + x; }
INPUTS(0, 1)
