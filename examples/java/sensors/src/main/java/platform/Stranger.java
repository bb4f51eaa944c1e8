package platform;

/** A mote that sends to others. The mote overhears its frames, and receives its beacons. */
final class Stranger extends Node {
    private final int interval;

    Stranger(Air air, int address, int interval) {
        super(air, address);
        this.interval = interval;
    }

    @Override
    void start() {
        beaconEvery(90, 64, 3);
        talk();
    }

    private void talk() {
        air.in(interval * (long) Machine.SECOND + air.below(Machine.SECOND), () -> {
            send(frame(DATA, 3, address, 0, 1, 9, 1, 2, 3, 4));
            talk();
        });
    }

    @Override
    int loss(long time) {
        return 400;
    }

    @Override
    void receive(byte[] frame) {
        check(frame);
    }
}
