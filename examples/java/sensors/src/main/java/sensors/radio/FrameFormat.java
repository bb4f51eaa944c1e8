package sensors.radio;

/** Offsets of a frame's header fields (a byte each), their values, and the longest frame. */
public interface FrameFormat {
    int KIND = 0;
    int SEQUENCE = 1;
    int DESTINATION = 2;
    int SOURCE = 3;
    int HEADER = 4;

    /** Offset of the checksum in the longest frame. */
    int LIMIT = 46;
    int CHECKSUM = 2;

    int DATA = 1;
    int ACKNOWLEDGEMENT = 2;
    int BEACON = 3;
    int PARAMETERS = 4;

    /** The destination of a frame to all motes. */
    int BROADCAST = 0xff;
}
