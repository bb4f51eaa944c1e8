package sensors.event;

/** Running timers in the order of their deadlines. The clock wraps: only differences count. */
final class TimerList {
    /** The timer with the next deadline, or null. */
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

    /** Queues the timers that are due. Periods are added to the deadline, so there is no drift. */
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
