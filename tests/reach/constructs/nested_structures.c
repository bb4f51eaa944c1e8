// A function deep in structures of structures, passed down by address.
#include "case.h"

struct inner { int pad[3]; int (*call)(int); };
struct middle { byte pad; struct inner inners[2]; };
struct outer { long long pad; struct middle middle; };
EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
RAM int other(int x) { CLOBBER(); return x - 1; }
static const struct outer outer = {0, {1, {{{0}, other}, {{0}, helper}}}};
RAM int use(const struct inner *inner, int x) { CLOBBER(); return inner->call(x); }
RAM int down(const struct middle *middle, int x) { CLOBBER(); return use(&middle->inners[x & 1], x); }
ROOT root(int x) { return down(&outer.middle, x); }
INPUTS(0, 2, 1)
