package sensors.radio;

/** The layer above the link; it owns the frames that it receives. */
public interface LinkListener {
    /** Receives an intact frame, sent to this mote or to all. */
    void received(Frame frame);

    /** Gets a sent frame back. {@code delivered}: it was acknowledged, or sent to all motes. */
    void sent(Frame frame, boolean delivered);
}
