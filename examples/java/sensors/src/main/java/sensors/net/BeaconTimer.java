package sensors.net;

import platform.Machine;
import sensors.event.Scheduler;
import sensors.event.Timer;
import sensors.radio.Frame;
import sensors.radio.FrameFormat;
import sensors.util.Random;

/**
 * Tells neighbours what the way to the sink costs from here: often after a change, then more and
 * more rarely.
 */
final class BeaconTimer extends Timer {
    static final int SHORTEST = 2 * Machine.SECOND;
    private static final int LONGEST = 64 * Machine.SECOND;

    private final Router router;
    private final Random random;
    private int interval;
    private int number;

    BeaconTimer(Scheduler scheduler, Router router, Random random) {
        super(scheduler);
        this.router = router;
        this.random = random;
    }

    /** Fires somewhere in the interval's second half, so that neighbours do not keep in step. */
    void schedule(int interval) {
        this.interval = interval;
        int half = interval >> 1;
        start(half + (half >> 8) * random.below(256), 0);
    }

    @Override
    public void fire() {
        Neighbour parent = router.parent;
        Frame frame = parent == null ? null : router.pool.take();
        if (frame != null) {
            frame.begin(FrameFormat.BEACON, FrameFormat.BROADCAST, router.address);
            frame.put8(++number);
            frame.put16(parent.cost());
            frame.put8(parent.address);
            router.link.send(frame);
        }
        schedule(interval < LONGEST ? interval << 1 : interval);
    }
}
