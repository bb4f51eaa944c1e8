package sensors.net;

import sensors.radio.FrameFormat;

/** Offsets of a beacon's fields: sequence number, cost of the route (2 bytes), parent. */
interface BeaconFormat {
    int NUMBER = FrameFormat.HEADER;
    int COST = FrameFormat.HEADER + 1;
    int PARENT = FrameFormat.HEADER + 3;
}
