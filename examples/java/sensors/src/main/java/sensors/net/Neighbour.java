package sensors.net;

/** Another mote in reach, by what its beacons say and by what becomes of frames sent to it. */
final class Neighbour {
    /** Costs are in sixteenths of a transmission. */
    static final int TRANSMISSION = 16;
    private static final int CERTAIN = 256;
    /** Never quite 0, or the way over the link would cost infinitely much. */
    private static final int LEAST = 16;
    private static final int MOST_MISSED = 4;

    final int address;
    int parent;
    private int advertised;
    private int sequence;
    /** Of 256 frames so many arrive; what was long ago counts less and less. */
    private int quality = CERTAIN / 2;

    /** {@code sequence} is that of the first beacon. */
    Neighbour(int address, int sequence) {
        this.address = address;
        this.sequence = sequence - 1;
    }

    /** Takes a beacon in; numbers left out are beacons that were lost. */
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

    /** A frame got over the link, or did not. */
    void transferred(boolean arrived) {
        quality += ((arrived ? CERTAIN : 0) - quality) / 8;
        if (quality < LEAST) {
            quality = LEAST;
        }
    }

    /** What a message costs from here to the sink by this neighbour. */
    int cost() {
        return advertised + TRANSMISSION * CERTAIN / quality;
    }
}
