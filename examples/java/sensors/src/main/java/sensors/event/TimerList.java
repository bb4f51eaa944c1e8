package sensors.event;

/** Running timers, the next one first. The clock may wrap: only differences are compared. */
final class TimerList {
    /** Runs out next, or null. */
    Timer first;

    void insert(Timer timer) {
        Timer before = null;
        Timer after = first;
        while (after != null && after.deadline - timer.deadline <= 0) {
            before = after;
            after = after.later;
        }
        timer.later = after;
        if (before == null) {
            first = timer;
        } else {
            before.later = timer;
        }
    }

    void remove(Timer timer) {
        if (first == timer) {
            first = timer.later;
            return;
        }
        for (Timer before = first; before != null; before = before.later) {
            if (before.later == timer) {
                before.later = timer.later;
                return;
            }
        }
    }

    /** Queues the timers that are due; those with a period go on from their deadline, without drift. */
    void expire(int now, EventQueue ready) {
        while (first != null && first.deadline - now <= 0) {
            Timer timer = first;
            first = timer.later;
            if (timer.period > 0) {
                timer.deadline += timer.period;
                insert(timer);
            }
            ready.post(timer);
        }
    }
}
