package sensors.event;

import platform.Machine;

/** An event that becomes due by time, once or again and again. Times are in clock ticks. */
public abstract class Timer extends Event {
    private final TimerList timers;
    Timer later;
    int deadline;
    int period;
    private boolean running;

    /** A timer of this scheduler, not yet started. */
    protected Timer(Scheduler scheduler) {
        timers = scheduler.timers;
    }

    /** Starts, or starts anew: due after {@code delay}, then every {@code period} unless that is 0. */
    public final void start(int delay, int period) {
        stop();
        this.period = period;
        deadline = Machine.now() + delay;
        running = true;
        timers.insert(this);
    }

    /** Stops; nothing happens if the timer does not run. */
    public final void stop() {
        if (running) {
            running = false;
            timers.remove(this);
        }
    }
}
