package sensors.event;

/** Events that are due, first come, first served. */
public final class EventQueue {
    private Event first;
    private Event last;

    /** Appends an event; one that waits already is not entered twice. */
    public void post(Event event) {
        if (event.pending) {
            return;
        }
        event.pending = true;
        event.following = null;
        if (first == null) {
            first = event;
        } else {
            last.following = event;
        }
        last = event;
    }

    /** Takes the event that has waited longest, or null. */
    Event take() {
        Event event = first;
        if (event != null) {
            first = event.following;
            event.pending = false;
        }
        return event;
    }
}
