package sensors.event;

/** A queue of the events that are due: first in, first out. */
public final class EventQueue {
    private Event first;
    private Event last;

    /** Appends an event, unless it is in the queue already. */
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

    /** Removes the event that has waited longest and returns it, or null. */
    Event take() {
        Event event = first;
        if (event != null) {
            first = event.following;
            event.pending = false;
        }
        return event;
    }
}
