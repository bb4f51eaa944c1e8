package platform;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * The radio channel with the other motes: relays between the mote and the sink, and motes farther
 * away that need this one as a relay. Links lose some frames and damage others.
 */
final class Air {
    /** Time between a frame and its acknowledgement, in ticks. */
    static final int TURNAROUND = 6;

    /** The version, followed by the parameters in the order of sensors.config.Parameter. */
    private static final int[] OLD_PARAMETERS = {0, 15, 2850, 2, 1200, 60, 300, 300};
    private static final int[] NEW_PARAMETERS = {1, 12, 2700, 2, 1150, 40, 250, 240};

    private final World world;
    private final Random chance;
    private final List<Node> nodes = new ArrayList<>();
    final BaseStation sink;
    final int moteAddress;

    private long busyUntil;
    private long moteStarts;
    private long moteEnds;
    private byte[] received;

    Air(World world, int moteAddress, long end, Random chance) {
        this.world = world;
        this.moteAddress = moteAddress;
        this.chance = chance;
        sink = new BaseStation(world, moteAddress);
        // The first relay is the better one, except in the middle third of the time.
        nodes.add(new Relay(this, 2, 16, time -> time > end / 3 && time < 2 * end / 3 ? 500 : 40));
        nodes.add(new Relay(this, 3, 16, time -> 100));
        nodes.add(new Relay(this, 4, 48, time -> 500));
        nodes.add(new Leaf(this, 11, 20, 100));
        nodes.add(new Leaf(this, 12, 31, 200));
        nodes.add(new Stranger(this, 21, 45));
        nodes.forEach(Node::start);
        // The sink changes the parameters; the third relay still sends the old ones.
        world.in(end / 2, () -> nodes.get(0).sendParameters(NEW_PARAMETERS));
        world.in(end / 2 + 3 * Machine.SECOND, () -> nodes.get(1).sendParameters(NEW_PARAMETERS));
        world.in(end / 4 * 3, () -> nodes.get(2).sendParameters(OLD_PARAMETERS));
    }

    long now() {
        return world.now();
    }

    void in(long ticks, Runnable action) {
        world.in(ticks, action);
    }

    int below(int bound) {
        return chance.nextInt(bound);
    }

    private boolean happens(int permille) {
        return chance.nextInt(1000) < permille;
    }

    /** Returns the time to send a frame at 250 kbit/s, with 6 bytes for preamble and length. */
    private static long ticks(int bytes) {
        return ((bytes + 6) * 8L * Machine.SECOND + 249_999) / 250_000;
    }

    boolean isClear() {
        return world.now() >= busyUntil;
    }

    boolean transmitFromMote(byte[] data, int length) {
        if (world.now() < moteEnds) {
            return false;
        }
        byte[] frame = Arrays.copyOf(data, length);
        moteStarts = world.now();
        moteEnds = moteStarts + ticks(length);
        busyUntil = Math.max(busyUntil, moteEnds);
        world.in(moteEnds - moteStarts, () -> {
            world.interrupt(Machine.RADIO_SENT);
            for (Node node : nodes) {
                if (!happens(node.loss(world.now()))) {
                    node.receive(frame);
                }
            }
        });
        return true;
    }

    /** Sends a frame from a node to the mote, which may lose it or receive it damaged. */
    void transmit(Node from, byte[] frame) {
        long start = world.now();
        long end = start + ticks(frame.length);
        busyUntil = Math.max(busyUntil, end);
        boolean lost = happens(from.loss(start));
        boolean damaged = happens(15);
        world.in(end - start, () -> {
            boolean moteWasSending = moteStarts < end && moteEnds > start;
            if (lost || moteWasSending || received != null) {
                return;
            }
            received = frame.clone();
            if (damaged) {
                received[below(frame.length)] ^= 1 << below(8);
            }
            world.interrupt(Machine.RADIO_RECEIVED);
        });
    }

    int takeReceived(byte[] data) {
        int length = received.length;
        System.arraycopy(received, 0, data, 0, length);
        received = null;
        return length;
    }
}
