package platform;

import java.util.function.LongToIntFunction;

/** A mote nearer to the sink. It acknowledges messages and delivers them to the sink. */
final class Relay extends Node {
    private final int cost;
    private final LongToIntFunction loss;

    /** Its {@code cost} to the sink is in sixteenths of a transmission, its {@code loss} by time. */
    Relay(Air air, int address, int cost, LongToIntFunction loss) {
        super(air, address);
        this.cost = cost;
        this.loss = loss;
    }

    @Override
    void start() {
        air.in(air.below(Machine.SECOND), () -> beacon(cost, 0));
        beaconEvery(12, cost, 0);
    }

    @Override
    int loss(long time) {
        return loss.applyAsInt(time);
    }

    @Override
    void receive(byte[] frame) {
        check(frame);
        if (frame[2] != address || frame[0] != DATA) {
            return;
        }
        byte[] reply = frame(ACKNOWLEDGEMENT, frame[3]);
        reply[1] = frame[1];
        seal(reply);
        air.in(Air.TURNAROUND, () -> air.transmit(this, reply));
        air.sink.receive(frame);
    }
}
