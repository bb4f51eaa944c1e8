package sensors.radio;

/** The pool of all frames, whose memory is allocated once. */
public final class FramePool {
    public static final int SIZE = 8;

    private final Frame[] free = new Frame[SIZE];
    public int available = SIZE;

    public FramePool() {
        for (int i = 0; i < SIZE; i++) {
            free[i] = new Frame();
        }
    }

    /** Returns a frame, or null if all are in use. */
    public Frame take() {
        return available == 0 ? null : free[--available];
    }

    /** Puts a frame back into the pool. */
    public void give(Frame frame) {
        free[available++] = frame;
    }
}
