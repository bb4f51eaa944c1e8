package sensors.event;

/**
 * An action to run when the processor is free. Handlers run to their end, one after the other.
 * They never block, so that one stack is enough for all applications.
 */
public abstract class Event {
    Event following;
    boolean pending;

    /** Runs the action. */
    public abstract void fire();
}
