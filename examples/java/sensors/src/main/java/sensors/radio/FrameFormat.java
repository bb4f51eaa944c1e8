package sensors.radio;

/** Where a frame's header fields are (a byte each), what they hold, and how long a frame gets. */
public interface FrameFormat {
    int KIND = 0;
    int SEQUENCE = 1;
    int DESTINATION = 2;
    int SOURCE = 3;
    int HEADER = 4;

    /** Where the checksum begins in the longest frame. */
    int LIMIT = 46;
    int CHECKSUM = 2;

    int DATA = 1;
    int ACKNOWLEDGEMENT = 2;
    int BEACON = 3;
    int PARAMETERS = 4;

    /** The destination that is everyone. */
    int BROADCAST = 0xff;
}
