// A linked list of handlers that is made before.
#include "case.h"

struct node { struct node *next; int (*call)(int); };
EITHER int far_handler(int x) { CLOBBER(); return x * 3 + 1; }
RAM int near_handler(int x) { CLOBBER(); return x; }
struct node first = {0, near_handler}, second = {0, far_handler};
struct node *list = &first;
ROOT root(int x)
{
    int sum = 0;
    for (struct node *node = list; node; node = node->next)
        sum += node->call(x);
    return sum;
}
RAM void run(int x)
{
    if (x == 3)
        first.next = &second;
    case_result = root(x);
}
INPUTS_OF_RUN(0, 3)
