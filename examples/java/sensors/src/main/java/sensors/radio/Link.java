package sensors.radio;

/** The layer that brings frames to neighbours. */
public interface Link {
    /** Sends a frame after those that wait; the listener gets it back when that is done. */
    void send(Frame frame);
}
