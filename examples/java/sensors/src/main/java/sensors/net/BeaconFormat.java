package sensors.net;

import sensors.radio.FrameFormat;

/** Where a beacon's fields are: sequence number, cost of the way to the sink (2 bytes), parent. */
interface BeaconFormat {
    int NUMBER = FrameFormat.HEADER;
    int COST = FrameFormat.HEADER + 1;
    int PARENT = FrameFormat.HEADER + 3;
}
