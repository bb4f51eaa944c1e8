package sensors.net;

import sensors.radio.FrameFormat;

/** Offsets of a message's header fields in a data frame; each field has one byte. */
interface MessageFormat {
    int ORIGIN = FrameFormat.HEADER;
    int NUMBER = FrameFormat.HEADER + 1;
    int HOPS = FrameFormat.HEADER + 2;
    int PORT = FrameFormat.HEADER + 3;
}
