package sensors.net;

import sensors.radio.FrameFormat;

/** Where a message's own header fields are in a frame of data, a byte each. */
interface MessageFormat {
    int ORIGIN = FrameFormat.HEADER;
    int NUMBER = FrameFormat.HEADER + 1;
    int HOPS = FrameFormat.HEADER + 2;
    int PORT = FrameFormat.HEADER + 3;
}
