package sensors.config;

import platform.Machine;
import sensors.event.Scheduler;
import sensors.event.Timer;
import sensors.radio.Frame;
import sensors.radio.FrameFormat;
import sensors.radio.FramePool;
import sensors.radio.Link;
import sensors.util.Random;

/**
 * Keeps the mote's parameters equal to those of the network. After it has received an older or newer
 * version, the mote sends its parameters, unless enough neighbours have sent the same ones meanwhile.
 * A frame has the version (1 byte) and the parameters (2 bytes each).
 */
public final class Dissemination extends Timer {
    private static final int VERSION = FrameFormat.HEADER;
    private static final int LONGEST_WAIT = 1024;
    /** Number of neighbours with the same version that make sending unnecessary. */
    private static final int ENOUGH = 2;

    /** The parameters, by their number in {@link Parameter}. */
    public final int[] values = {15, 2850, 2, 1200, 60, 300, 300};
    public int version;
    private final int address;
    private final FramePool pool;
    private final Link link;
    private final Random random;
    private int heard;

    public Dissemination(Scheduler scheduler, int address, FramePool pool, Link link, Random random) {
        super(scheduler);
        this.address = address;
        this.pool = pool;
        this.link = link;
        this.random = random;
    }

    /** Receives the parameters of a neighbour. */
    public void hear(Frame frame) {
        int newer = (byte) (frame.get8(VERSION) - version); // versions wrap
        if (newer == 0) {
            heard++;
            return;
        }
        if (newer > 0) {
            version += newer;
            for (int i = 0; i < Parameter.COUNT; i++) {
                values[i] = frame.get16(VERSION + 1 + 2 * i);
            }
        }
        heard = 0;
        start(Machine.SECOND / LONGEST_WAIT * (1 + random.below(LONGEST_WAIT)), 0);
    }

    @Override
    public void fire() {
        Frame frame = heard < ENOUGH ? pool.take() : null;
        if (frame != null) {
            frame.begin(FrameFormat.PARAMETERS, FrameFormat.BROADCAST, address);
            frame.put8(version);
            for (int i = 0; i < Parameter.COUNT; i++) {
                frame.put16(values[i]);
            }
            link.send(frame);
        }
    }
}
