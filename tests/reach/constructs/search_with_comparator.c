// A search whose comparing function gets a context that holds another one.
#include "case.h"

struct context { int (*key)(int); int wanted; };
int data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
EITHER int key(int x) { CLOBBER(); return x * 2; }
RAM int matches(int value, void *context)
{
    struct context *given = context;
    return given->key(value) == given->wanted;
}
RAM int search(int (*match)(int, void *), void *context)
{
    CLOBBER();
    for (int at = 0; at < 8; at++)
        if (match(data[at], context))
            return at;
    return -1;
}
ROOT root(int x)
{
    struct context context = {key, x};
    return search(matches, &context);
}
INPUTS(4, 99)
