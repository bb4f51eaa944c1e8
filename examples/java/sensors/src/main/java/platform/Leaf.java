package platform;

/** A mote farther away. It sends messages through the mote, and repeats each until acknowledged. */
final class Leaf extends Node {
    private static final int MOST_ATTEMPTS = 5;
    private static final int PORT = 9;
    private static final int PAYLOAD = 12;

    private final int interval;
    private final int loss;
    private int sequence;
    private byte[] pending;
    private int attempts;

    Leaf(Air air, int address, int interval, int loss) {
        super(air, address);
        this.interval = interval;
        this.loss = loss;
    }

    @Override
    void start() {
        beaconEvery(40, 80, air.moteAddress);
        every();
    }

    private void every() {
        air.in(interval * (long) Machine.SECOND + air.below(2 * Machine.SECOND), () -> {
            message();
            every();
        });
    }

    private void message() {
        int[] payload = new int[4 + PAYLOAD];
        payload[0] = address;
        payload[1] = ++sequence;
        payload[3] = PORT;
        for (int i = 4; i < payload.length; i++) {
            payload[i] = air.below(256);
        }
        pending = frame(DATA, air.moteAddress, payload);
        attempts = 0;
        air.sink.expect(pending);
        attempt(pending);
    }

    private void attempt(byte[] frame) {
        if (frame != pending || ++attempts > MOST_ATTEMPTS) {
            return;
        }
        send(frame);
        air.in(800 + air.below(1200), () -> attempt(frame));
    }

    @Override
    int loss(long time) {
        return loss;
    }

    @Override
    void receive(byte[] frame) {
        check(frame);
        if (frame[0] == ACKNOWLEDGEMENT && frame[2] == address
                && pending != null && frame[1] == pending[1]) {
            pending = null;
        }
    }
}
