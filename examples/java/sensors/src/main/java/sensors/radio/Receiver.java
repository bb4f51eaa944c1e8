package sensors.radio;

import platform.Machine;
import sensors.event.Event;
import sensors.event.Scheduler;

/** Receives frames. It drops those damaged or for others, and acknowledges those for this mote. */
public final class Receiver extends Event implements FrameFormat {
    private final int address;
    private final FramePool pool;
    private final Mac mac;
    private final Frame reply = new Frame();

    public int damaged;
    public int overheard;
    public int overruns;

    public Receiver(Scheduler scheduler, int address, FramePool pool, Mac mac) {
        this.address = address;
        this.pool = pool;
        this.mac = mac;
        scheduler.attach(Machine.RADIO_RECEIVED, this);
    }

    @Override
    public void fire() {
        Frame frame = pool.take();
        if (frame == null) {
            // The frame is not acknowledged, so it will be repeated. The reply's buffer is always free.
            Machine.receive(reply.data);
            overruns++;
            return;
        }
        frame.length = Machine.receive(frame.data) - CHECKSUM;
        if (accept(frame)) {
            mac.listener.received(frame);
        } else {
            pool.give(frame);
        }
    }

    private boolean accept(Frame frame) {
        if (!frame.isIntact()) {
            damaged++;
            return false;
        }
        int destination = frame.get8(DESTINATION);
        if (destination == BROADCAST) {
            return true;
        }
        if (destination != address) {
            overheard++;
            return false;
        }
        int source = frame.get8(SOURCE);
        if (frame.get8(KIND) == ACKNOWLEDGEMENT) {
            mac.acknowledged(source, frame.get8(SEQUENCE));
            return false;
        }
        // The answer is sent now, before the backoff of others ends, or not at all if the radio is busy.
        reply.begin(ACKNOWLEDGEMENT, source, address);
        reply.data[SEQUENCE] = frame.data[SEQUENCE];
        reply.seal();
        Machine.transmit(reply.data, reply.length + CHECKSUM);
        return true;
    }
}
