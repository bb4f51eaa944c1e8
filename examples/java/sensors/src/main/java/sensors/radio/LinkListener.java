package sensors.radio;

/** The layer above the link; it owns the frames that it receives. */
public interface LinkListener {
    /** An intact frame has come, to this mote or to all. */
    void received(Frame frame);

    /** The link is done with a frame; {@code delivered} if it was acknowledged, or needed not be. */
    void sent(Frame frame, boolean delivered);
}
