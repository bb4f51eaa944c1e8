// An interpreter whose byte codes call functions by a table.
#include "case.h"

EITHER int multiply(int x) { CLOBBER(); return x * 5; }
RAM int add(int x) { CLOBBER(); return x + 3; }
RAM int invert(int x) { CLOBBER(); return ~x; }
static int (*const codes[])(int) = {add, invert, multiply};
byte program[8] = {0, 1, 0, 0, 255};
ROOT root(int x)
{
    if (x == 2)
        program[1] = 2;
    for (const byte *code = program; *code < 3; code++)
        x = codes[*code](x);
    return x;
}
INPUTS(0, 2)
