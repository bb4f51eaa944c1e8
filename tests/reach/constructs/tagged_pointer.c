// A pointer whose low bits are a tag.
#include "case.h"

EITHER_CONST const volatile word table[4] __attribute__((aligned(8))) = {1, 2, 3, 4};
ROOT root(int x)
{
    word tagged = (word)OPAQUE(&table[0]) | ((unsigned)x & 3u);
    tagged = OPAQUE(tagged);
    return (int)((const volatile word *)(tagged & ~(word)3))[tagged & 3u];
}
INPUTS(0, 3)
