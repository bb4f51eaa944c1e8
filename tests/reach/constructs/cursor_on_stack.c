// A parser that moves its cursor through a pointer to a pointer.
#include "case.h"

EITHER_CONST const char text[] = "12+34";
RAM int number(const char **cursor)
{
    int value = 0;
    while (**cursor >= '0' && **cursor <= '9')
        value = value * 10 + *(*cursor)++ - '0';
    return value;
}
ROOT root(int x)
{
    const char *cursor = text;
    int left = number(&cursor);
    cursor++;
    return left + number(&cursor) + x;
}
INPUTS(0, 1)
