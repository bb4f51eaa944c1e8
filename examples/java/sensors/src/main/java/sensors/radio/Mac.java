package sensors.radio;

import platform.Machine;
import sensors.event.Event;
import sensors.event.Scheduler;
import sensors.event.Timer;
import sensors.util.Fifo;
import sensors.util.Random;

/**
 * Sends frames, one at a time. It waits a random time, checks that the channel is clear, sends,
 * and waits for the acknowledgement; without one, it retries a few times. It never waits for both at
 * the same time, so that one timer, this object, is enough.
 */
public final class Mac extends Timer implements Link, FrameFormat {
    private static final int IDLE = 0;
    private static final int BACKING_OFF = 1;
    private static final int SENDING = 2;
    private static final int AWAITING = 3;

    /** Unit of the random backoff, in ticks: about 300 µs. */
    private static final int SLOT = 10;
    private static final int LEAST_EXPONENT = 3;
    private static final int GREATEST_EXPONENT = 6;
    private static final int ACKNOWLEDGEMENT_WAIT = Machine.SECOND / 100;
    private static final int MOST_ATTEMPTS = 4;

    public LinkListener listener;
    private final Random random;
    private final Fifo<Frame> waiting = new Fifo<>(FramePool.SIZE);
    private int state = IDLE;
    private Frame current;
    private int sequence;
    private int attempts;
    private int exponent;

    public int transmissions;
    public int retransmissions;
    public int busyChannels;

    public Mac(Scheduler scheduler, Random random) {
        super(scheduler);
        this.random = random;
        scheduler.attach(Machine.RADIO_SENT, new TransmissionDone());
    }

    @Override
    public void send(Frame frame) {
        if (state == IDLE) {
            begin(frame);
        } else {
            waiting.add(frame);
        }
    }

    private void begin(Frame frame) {
        current = frame;
        frame.data[SEQUENCE] = (byte) ++sequence;
        frame.seal();
        attempts = 0;
        exponent = LEAST_EXPONENT;
        backOff();
    }

    private void backOff() {
        state = BACKING_OFF;
        start(SLOT * (1 + random.below(1 << exponent)), 0);
        if (exponent < GREATEST_EXPONENT) {
            exponent++;
        }
    }

    /** Handles the end of the backoff, or of the wait for an acknowledgement. */
    @Override
    public void fire() {
        if (state == AWAITING) {
            if (++attempts == MOST_ATTEMPTS) {
                finish(false);
            } else {
                retransmissions++;
                backOff();
            }
        } else if (Machine.channelClear() && Machine.transmit(current.data, current.length + CHECKSUM)) {
            state = SENDING;
            transmissions++;
        } else {
            busyChannels++;
            backOff();
        }
    }

    /** Processes an acknowledgement, and ignores one that comes too late. */
    void acknowledged(int neighbour, int sequence) {
        if (state == AWAITING && current.get8(SEQUENCE) == sequence
                && current.get8(DESTINATION) == neighbour) {
            stop();
            finish(true);
        }
    }

    private void finish(boolean delivered) {
        Frame frame = current;
        current = null;
        state = IDLE;
        listener.sent(frame, delivered);
        if (state == IDLE) {
            Frame next = waiting.poll();
            if (next != null) {
                begin(next);
            }
        }
    }

    /** Handles the end of a transmission, and ignores those of acknowledgements by the receiver. */
    private final class TransmissionDone extends Event {
        @Override
        public void fire() {
            if (state == SENDING) {
                if (current.get8(DESTINATION) == BROADCAST) {
                    finish(true);
                } else {
                    state = AWAITING;
                    start(ACKNOWLEDGEMENT_WAIT, 0);
                }
            }
        }
    }
}
