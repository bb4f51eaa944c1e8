package sensors.net;

import platform.Machine;
import sensors.event.Scheduler;
import sensors.event.Timer;
import sensors.radio.Frame;
import sensors.radio.FrameFormat;
import sensors.util.Random;

/**
 * Sends beacons with the cost of the route to the sink: often after a change, then at longer and
 * longer intervals.
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

    /** Fires at a random time in the interval's second half, so that neighbours do not collide. */
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
