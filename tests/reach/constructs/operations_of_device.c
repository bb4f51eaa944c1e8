// A device in RAM with a pointer to its operations, of which one is in flash or not.
#include "case.h"

struct device;
struct operations { int (*write)(struct device *, int); int (*flush)(struct device *, int); };
struct device { const struct operations *operations; int state; };
EITHER int far_flush(struct device *device, int x) { CLOBBER(); return device->state + x; }
RAM int near_write(struct device *device, int x) { device->state = x; return 1; }
RAM_CONST const struct operations operations = {near_write, far_flush};
struct device device = {&operations, 0};
ROOT root(int x)
{
    struct device *given = OPAQUE(&device);
    int done = given->operations->write(given, x);
    return x == 3 ? done + given->operations->flush(given, x) : done;
}
INPUTS(0, 3)
