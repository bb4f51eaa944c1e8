// A function's address in the caller's frame, written at a distance from a given address.
#include "case.h"

struct pair { int first; int (*call)(int); };
EITHER int other(int x) { CLOBBER(); return x * 3 + 1; }
RAM int usual(int x) { CLOBBER(); return x; }
RAM void change(struct pair *pair) { CLOBBER(); pair->call = other; }
RAM void pass_on(int a, int b, int c, int d, int e, int f, int g, int h, struct pair *pair)
{
    pair->first = a + b + c + d + e + f + g + h;
    change(pair);
}
ROOT root(int x)
{
    struct pair pair = {x, usual};
    pass_on(x, 1, 2, 3, 4, 5, 6, 7, &pair);
    return pair.call(pair.first);
}
INPUTS(0, 1)
