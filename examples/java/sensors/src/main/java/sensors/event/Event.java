package sensors.event;

/**
 * Something to be done when the processor is free. Handlers run to their end, one after the
 * other: nothing on the mote waits, and one stack is enough for all applications.
 */
public abstract class Event {
    Event following;
    boolean pending;

    /** Does what there is to do. */
    public abstract void fire();
}
