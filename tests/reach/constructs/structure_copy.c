// A constant structure that is copied whole.
#include "case.h"

struct point { int x, y, z, w, u; };
EITHER_CONST const struct point points[4] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}, {16, 17, 18, 19, 20}};
ROOT root(int x)
{
    struct point point = points[x & 3];
    CLOBBER();
    return point.x + point.y * 2 + point.z + point.w + point.u;
}
INPUTS(0, 1, 2, 3)
