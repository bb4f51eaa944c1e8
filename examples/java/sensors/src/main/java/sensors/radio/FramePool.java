package sensors.radio;

/** All frames there are: memory for them is set aside once. */
public final class FramePool {
    public static final int SIZE = 8;

    private final Frame[] free = new Frame[SIZE];
    public int available = SIZE;

    public FramePool() {
        for (int i = 0; i < SIZE; i++) {
            free[i] = new Frame();
        }
    }

    /** A frame, or null if all are in use. */
    public Frame take() {
        return available == 0 ? null : free[--available];
    }

    /** Gives a frame back. */
    public void give(Frame frame) {
        free[available++] = frame;
    }
}
