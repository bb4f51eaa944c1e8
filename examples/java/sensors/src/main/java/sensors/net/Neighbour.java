package sensors.net;

/** Another mote in reach: the content of its beacons, and the measured quality of the link. */
final class Neighbour {
    /** Costs are in sixteenths of a transmission. */
    static final int TRANSMISSION = 16;
    private static final int CERTAIN = 256;
    /** Least quality. It is not 0, at which the cost of the link would be infinite. */
    private static final int LEAST = 16;
    private static final int MOST_MISSED = 4;

    final int address;
    int parent;
    private int advertised;
    private int sequence;
    /** Number of 256 frames that arrive, as a moving average in which older frames count less. */
    private int quality = CERTAIN / 2;

    /** {@code sequence} is the sequence number of the first beacon. */
    Neighbour(int address, int sequence) {
        this.address = address;
        this.sequence = sequence - 1;
    }

    /** Processes a beacon. Gaps in the sequence numbers count as lost frames. */
    void beacon(int sequence, int cost, int parent) {
        int missed = sequence - this.sequence - 1 & 0xff;
        this.sequence = sequence;
        advertised = cost;
        this.parent = parent;
        for (int i = 0; i < missed && i < MOST_MISSED; i++) {
            transferred(false);
        }
        transferred(true);
    }

    /** Updates the link's quality after a frame that arrived, or was lost. */
    void transferred(boolean arrived) {
        quality += ((arrived ? CERTAIN : 0) - quality) / 8;
        if (quality < LEAST) {
            quality = LEAST;
        }
    }

    /** Returns the cost of a message from here to the sink through this neighbour. */
    int cost() {
        return advertised + TRANSMISSION * CERTAIN / quality;
    }
}
