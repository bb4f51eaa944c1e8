// Members of a constant structure.
#include "case.h"

struct settings { int speed; short mode; byte flags[6]; };
EITHER_CONST const struct settings settings = {115200, 3, {1, 2, 3, 4, 5, 6}};
ROOT root(int x)
{
    const volatile struct settings *given = OPAQUE(&settings);
    return given->speed + given->flags[x & 3];
}
INPUTS(0, 1)
