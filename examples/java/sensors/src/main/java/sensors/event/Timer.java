package sensors.event;

import platform.Machine;

/** An event that becomes due at a time, once or periodically. Times are in clock ticks. */
public abstract class Timer extends Event {
    private final TimerList timers;
    Timer later;
    int deadline;
    int period;
    private boolean running;

    /** Makes a timer of this scheduler, not yet started. */
    protected Timer(Scheduler scheduler) {
        timers = scheduler.timers;
    }

    /** Starts or restarts: due after {@code delay}, then every {@code period} unless that is 0. */
    public final void start(int delay, int period) {
        stop();
        this.period = period;
        deadline = Machine.now() + delay;
        running = true;
        timers.insert(this);
    }

    /** Stops the timer, if it runs. */
    public final void stop() {
        if (running) {
            running = false;
            timers.remove(this);
        }
    }
}
