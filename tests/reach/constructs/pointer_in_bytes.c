// A function pointer that is kept as bytes, at an odd address.
#include "case.h"

EITHER int helper(int x) { CLOBBER(); return x * 3 + 1; }
byte kept[1 + sizeof(word)];
ROOT root(int x)
{
    word address = (word)OPAQUE(helper);
    word again = 0;
    for (unsigned at = 0; at < sizeof address; at++)
        ((volatile byte *)kept)[1 + at] = (byte)(address >> 8 * at);
    for (unsigned at = 0; at < sizeof again; at++)
        again |= (word)((volatile byte *)kept)[1 + at] << 8 * at;
    return ((int (*)(int))again)(x);
}
INPUTS(0, 3)
