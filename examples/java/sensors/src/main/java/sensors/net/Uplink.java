package sensors.net;

import sensors.radio.Frame;

/** The route to the sink, as applications see it. */
public interface Uplink {
    /** Returns a message to be filled, or null if no frame is free. */
    Frame open(int port);

    /** Sends a message that {@link #open} returned. */
    void submit(Frame frame);
}
