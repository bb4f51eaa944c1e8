package sensors.net;

import sensors.radio.Frame;

/** The way to the sink as applications see it. */
public interface Uplink {
    /** A message to be filled, or null if no frame is free. */
    Frame open(int port);

    /** Sends a message that {@link #open} gave. */
    void submit(Frame frame);
}
