// An insertion sort with a comparing function.
#include "case.h"

int data[8] = {5, 2, 8, 1, 9, 3, 7, 4};
EITHER int compare(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }
RAM void sort(void *base, unsigned count, unsigned size, int (*less)(const void *, const void *))
{
    byte *bytes = base;
    for (unsigned at = 1; at < count; at++)
        for (unsigned back = at; back > 0 && less(bytes + back * size, bytes + (back - 1) * size) < 0; back--)
            for (unsigned one = 0; one < size; one++) {
                byte kept = bytes[back * size + one];
                bytes[back * size + one] = bytes[(back - 1) * size + one];
                bytes[(back - 1) * size + one] = kept;
            }
}
ROOT root(int x)
{
    sort(data, (unsigned)x, sizeof *data, compare);
    return data[0];
}
INPUTS(0, 1, 8)
