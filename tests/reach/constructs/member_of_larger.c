// A handler that finds its object from the address of a member.
#include "case.h"

struct list { struct list *next; };
struct timer { int period; int (*call)(int); struct list link; };
EITHER int far_call(int x) { CLOBBER(); return x * 3 + 1; }
struct timer timer = {5, far_call, {0}};
struct list head = {&timer.link};
ROOT root(int x)
{
    struct list *link = head.next;
    struct timer *found = (struct timer *)((byte *)link - __builtin_offsetof(struct timer, link));
    return x == found->period ? found->call(x) : 0;
}
INPUTS(0, 5)
