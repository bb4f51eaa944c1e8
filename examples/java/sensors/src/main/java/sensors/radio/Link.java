package sensors.radio;

/** The layer that delivers frames to neighbours. */
public interface Link {
    /** Sends a frame after those that wait. The listener gets it back when it is sent. */
    void send(Frame frame);
}
