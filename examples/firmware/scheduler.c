#include "firmware.h"

#define TASKS 12

struct task {
    uint32_t due, period;
    uint8_t order; /* among tasks due at the same time, so that all runs are equal */
    task_fn run;
};

static struct task heap[TASKS];
static unsigned tasks;

static bool before(const struct task *a, const struct task *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void swap(struct task *a, struct task *b)
{
    struct task t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(unsigned i)
{
    while (i > 0 && before(&heap[i], &heap[(i - 1) / 2])) {
        swap(&heap[i], &heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(unsigned i)
{
    for (;;) {
        unsigned least = i;
        for (unsigned child = 2 * i + 1; child <= 2 * i + 2 && child < tasks; child++)
            if (before(&heap[child], &heap[least]))
                least = child;
        if (least == i)
            return;
        swap(&heap[i], &heap[least]);
        i = least;
    }
}

bool scheduler_every(uint32_t first, uint32_t period, task_fn run)
{
    if (tasks == TASKS)
        return false;
    heap[tasks] = (struct task){ first, period, (uint8_t)tasks, run };
    sift_up(tasks++);
    return true;
}

uint32_t scheduler_run_until(uint32_t end)
{
    uint32_t events = 0;
    while (heap[0].due < end) {
        uint32_t now = heap[0].due;
        task_fn run = heap[0].run;
        heap[0].due += heap[0].period;
        sift_down(0);
        run(now);
        events++;
    }
    return events;
}
