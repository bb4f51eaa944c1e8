package sensors.event;

import platform.Machine;

/** The mote's main loop: it runs events that are due, then sleeps until the next interrupt. */
public final class Scheduler {
    /** Longest sleep, in ticks, when no timer runs. */
    private static final int HIBERNATION = 1 << 30;

    /** Events that are due now. */
    public final EventQueue ready = new EventQueue();
    final TimerList timers = new TimerList();
    private final Event[] vectors = new Event[Machine.INTERRUPTS];

    /** Registers a handler to run after each interrupt of this kind. */
    public void attach(int interrupt, Event handler) {
        vectors[interrupt] = handler;
    }

    /** Runs until the power is cut. */
    public void run() {
        for (;;) {
            for (Event event = ready.take(); event != null; event = ready.take()) {
                event.fire();
            }
            Timer next = timers.first;
            int alarm = next == null ? Machine.now() + HIBERNATION : next.deadline;
            int interrupt = Machine.waitForInterrupt(alarm);
            if (interrupt == Machine.POWER_OFF) {
                return;
            }
            if (interrupt == Machine.ALARM) {
                timers.expire(Machine.now(), ready);
            } else {
                ready.post(vectors[interrupt]);
            }
        }
    }
}
