package platform;

import java.util.Arrays;

/** Another mote, of which only the radio is simulated. */
abstract class Node {
    static final int DATA = 1;
    static final int ACKNOWLEDGEMENT = 2;
    static final int BEACON = 3;
    static final int PARAMETERS = 4;
    static final int BROADCAST = 0xff;

    final Air air;
    final int address;
    private int linkSequence;
    private int beaconSequence;

    Node(Air air, int address) {
        this.air = air;
        this.address = address;
    }

    abstract void start();

    /** Returns how many of 1000 frames its link with the mote loses at this time. */
    abstract int loss(long time);

    /** Receives an intact frame of the mote. */
    abstract void receive(byte[] frame);

    byte[] frame(int kind, int destination, int... payload) {
        byte[] frame = new byte[4 + payload.length + 2];
        frame[0] = (byte) kind;
        frame[1] = (byte) ++linkSequence;
        frame[2] = (byte) destination;
        frame[3] = (byte) address;
        for (int i = 0; i < payload.length; i++) {
            frame[4 + i] = (byte) payload[i];
        }
        return seal(frame);
    }

    static byte[] seal(byte[] frame) {
        int crc = Checksum.of(frame, frame.length - 2);
        frame[frame.length - 2] = (byte) (crc >> 8);
        frame[frame.length - 1] = (byte) crc;
        return frame;
    }

    /** Sends a frame as soon as the channel is clear. */
    void send(byte[] frame) {
        if (air.isClear()) {
            air.transmit(this, frame);
        } else {
            air.in(20 + air.below(300), () -> send(frame));
        }
    }

    void beaconEvery(int seconds, int cost, int parent) {
        air.in((seconds - 1) * (long) Machine.SECOND + air.below(2 * Machine.SECOND), () -> {
            beacon(cost, parent);
            beaconEvery(seconds, cost, parent);
        });
    }

    void beacon(int cost, int parent) {
        send(frame(BEACON, BROADCAST, ++beaconSequence, cost >> 8, cost, parent));
    }

    /** Sends parameters, their version first, in the mote's format. */
    void sendParameters(int[] parameters) {
        int[] payload = new int[2 * parameters.length - 1];
        payload[0] = parameters[0];
        for (int i = 1; i < parameters.length; i++) {
            payload[2 * i - 1] = parameters[i] >> 8;
            payload[2 * i] = parameters[i];
        }
        send(frame(PARAMETERS, BROADCAST, payload));
    }

    /** Checks a frame of the mote: its checksum, and its sender. */
    void check(byte[] frame) {
        byte[] sealed = seal(Arrays.copyOf(frame, frame.length));
        if (!Arrays.equals(sealed, frame)) {
            throw new IllegalStateException("the mote has sent a frame with a wrong checksum");
        }
        if ((frame[3] & 0xff) != air.moteAddress) {
            throw new IllegalStateException("the mote has sent a frame from " + (frame[3] & 0xff));
        }
    }
}
