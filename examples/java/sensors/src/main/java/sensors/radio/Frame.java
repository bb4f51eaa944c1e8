package sensors.radio;

import sensors.util.Bytes;

/**
 * A radio frame: header, payload, checksum. The length does not include the checksum, which is
 * the CRC-16 of CCITT: polynomial x^16 + x^12 + x^5 + 1, initial value 0.
 */
public final class Frame extends Bytes implements FrameFormat {
    /** Checksums of all nibbles. A table for whole bytes would take an eighth of the memory. */
    private static final char[] NIBBLES = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };

    /** True if this frame was already sent over one route without success. */
    public boolean rerouted;

    Frame() {
        super(LIMIT + CHECKSUM);
    }

    /** Clears the frame and writes a header. The sequence number is set when the frame is sent. */
    public void begin(int kind, int destination, int source) {
        length = 0;
        rerouted = false;
        put8(kind);
        put8(0);
        put8(destination);
        put8(source);
    }

    /** Writes the checksum. */
    void seal() {
        put16(checksum());
        length -= CHECKSUM;
    }

    /** Returns true if the checksum is right. */
    boolean isIntact() {
        return length >= HEADER && checksum() == get16(length);
    }

    private int checksum() {
        int crc = 0;
        for (int i = 0; i < length; i++) {
            int value = get8(i);
            crc = shift(shift(crc, value >> 4), value & 15);
        }
        return crc;
    }

    private static int shift(int crc, int nibble) {
        return crc << 4 & 0xffff ^ NIBBLES[crc >> 12 ^ nibble];
    }
}
